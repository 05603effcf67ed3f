// Package testsonly_test holds tests.
package testsonly_test
