"""Does a change of the code leave every figure of the program as it was?"""
