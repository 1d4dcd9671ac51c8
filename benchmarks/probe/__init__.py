"""The probe judged against hierarchies that it does not know."""
