// Command program does nothing.
package main
