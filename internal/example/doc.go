// Package example answers: do elastic applications really work under Dovetail?
//
// It holds five small data-intensive applications (word count, k-means, connected components, PageRank, an external sort)
// on a master/worker runtime of its own, and a toy notebook. They do real work on generated data. A master splits its job
// into rounds of tasks; workers may join and leave at any moment, also by SIGKILL, and no work is lost: a task whose worker
// is gone is handed out again, and a second result for the same task is ignored. At the end the master compares its result
// with the one expected of the same data, computed in another way, so that a run that succeeded proves that nothing was lost.
//
// The runtime speaks HTTP. To be told before a worker is taken away, POST /retire?worker=NAME to the master: it answers when
// that worker holds no task and will get none.
package example
