library(testthat)
library(rhocap)

test_check("rhocap")
