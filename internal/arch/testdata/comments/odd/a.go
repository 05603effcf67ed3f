// This is odd.
package odd // want "must begin with \"Package odd \""
