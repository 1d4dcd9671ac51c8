// GNU's typeof, which NVRTC lacks: the type of a value, without the reference of decltype.
#pragma once
template <typename T> struct placewise_referred { typedef T type; };
template <typename T> struct placewise_referred<T &> { typedef T type; };
template <typename T> struct placewise_referred<T &&> { typedef T type; };
template <typename T> using placewise_type = typename placewise_referred<T>::type;
#define typeof(...) placewise_type<decltype(__VA_ARGS__)>
#define __typeof(...) typeof(__VA_ARGS__)
#define __typeof__(...) typeof(__VA_ARGS__)
