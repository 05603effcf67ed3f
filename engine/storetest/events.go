package storetest

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// epoch is when the tests begin. at returns so many seconds later.
var epoch = time.Date(2026, 3, 29, 0, 59, 59, 123456000, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// Application is a description that uses every field, so that a field that is lost is noticed.
func Application() *dovetail.Application {
	text, low, high := "small <&> \u2028 ü", 0.5, 1e9
	finish := at(3600)
	return &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: "wordcount", Description: "counts words\n\"quoted\"", Kind: dovetail.Batch,
		Labels: map[string]string{"team": "data"}, Priority: -3, Size: 1.5, Expected: dovetail.Duration(90 * time.Second),
		MaxRuntime: dovetail.Duration(time.Hour), Target: &dovetail.Target{Runtime: dovetail.Duration(time.Minute), Confidence: 0.9},
		FinishBy: &finish, Inputs: []string{"hdfs://a/b"}, InputSize: 1 << 40,
		Params: map[string]dovetail.Param{"input": {Type: "string", Default: &text, Min: &low, Max: &high, Enum: []string{"a", ""}, Description: "what"}},
		Components: []dovetail.Component{
			{
				Name: "master", Image: "image:1", Command: []string{"wordcount", "master"}, Args: []string{"--input", "${params.input}"},
				Env: map[string]string{"A": "", "B": "x=y"}, WorkDir: "/srv", Volumes: []dovetail.Volume{{Source: "/a", Target: "/b", ReadOnly: true}},
				Ports:     map[string]dovetail.Port{"rpc": {Port: 7000, URL: "http://${replica.address}"}},
				Resources: dovetail.Resources{dovetail.CPU: 500, dovetail.Memory: 256 << 20, dovetail.GPU: 1, dovetail.Disk: 1},
				Nodes:     map[string]string{"zone": "a"}, Count: 1, Ready: &dovetail.Ready{TCP: "rpc", Timeout: dovetail.Duration(time.Minute)},
				Restart: dovetail.Restart{Retries: 2}, Ends: "run", Stop: dovetail.Stop{Signal: "SIGINT", Grace: dovetail.Duration(time.Second)},
			},
			{
				Name: "worker", Count: 1, Max: 8, After: []string{"master"}, Resources: dovetail.Resources{dovetail.CPU: 1000},
				Remove: &dovetail.Remove{HTTP: &dovetail.HTTPCall{URL: "http://x/retire", Method: "PUT", Body: "{}"}, Command: []string{"x"}, Grace: dovetail.Duration(10 * time.Second)},
			},
		},
	}
}

func fullRun(id dovetail.RunID) *dovetail.Run {
	return &dovetail.Run{
		ID: id, Name: "wordcount-1", Class: "wordcount input=small", User: "ada", Key: "k", Digest: "d",
		Params: map[string]string{"input": "small"}, App: Application(), Input: 24e9, Hold: true, Wait: true,
	}
}

// Events returns one event of every type, with every field set.
func Events() []dovetail.Event {
	slot := dovetail.Slot{Run: 7, Component: 1, Elastic: true, Node: "node-0"}
	replica := dovetail.Replica{Run: 7, Component: 1, Index: 3, Attempt: 2}
	return []dovetail.Event{
		dovetail.Submitted{Run: fullRun(7)},
		dovetail.Cancelled{Run: 7, By: "ada"},
		dovetail.Held{Run: 7},
		dovetail.Released{Run: 7},
		dovetail.Suspended{Run: 7},
		dovetail.Resumed{Run: 7},
		dovetail.Reprioritised{Run: 7, Priority: -2},
		dovetail.Configured{Config: dovetail.Config{
			Policy: "srpt-2d1", Alloc: "malleable", Reclaim: "lower", Preempt: true, InteractiveFirst: true,
			MaxWait: dovetail.Duration(time.Hour), Regrow: dovetail.Duration(time.Second), Replan: dovetail.Duration(time.Minute), Place: "pack",
			Colocation: dovetail.Colocation{
				Choose: "price", Window: 12, Passes: 30, Step: .1, Period: dovetail.Duration(time.Minute), Slowdown: 1.5,
				HalfLife: dovetail.Duration(time.Hour), Classes: 100, Seed: 1 << 60,
			},
		}},
		dovetail.ReplicasUp{Slot: slot, N: 1, Replica: replica, Host: "127.0.0.1", Ports: map[string]int{"rpc": 7001}},
		dovetail.ReplicasReady{Slot: slot, N: 1, Replica: replica},
		dovetail.ReplicasDown{
			Slot: slot, N: 1, Replica: replica, WasUp: true, WasReady: true,
			Exit:  dovetail.Exit{Code: 137, Signal: "SIGKILL", OOM: true, Asked: true, Lost: true, Why: "why"},
			Usage: dovetail.Usage{CPU: time.Second, MemoryPeak: 1 << 40, Read: 2, Written: 3},
		},
		dovetail.Refused{Slot: slot, N: 1, Replica: replica, Why: "no such image"},
		dovetail.NodeUp{Node: dovetail.Node{
			Name: "node-0", Address: "10.0.0.1", Capacity: dovetail.Resources{dovetail.CPU: 64000}, Labels: map[string]string{"zone": "a"},
		}},
		dovetail.NodeDown{Node: "node-0"},
		dovetail.Cordoned{Node: "node-0", On: true, Drain: true},
		dovetail.Decided{Plan: dovetail.Plan{
			At: at(1), Seq: 12, Assign: []dovetail.Assign{{Slot: slot, N: 4}},
			Choices: []dovetail.Choice{{
				Run: 7, At: at(1), Model: "bayes-cobell", Runs: 20, ScaleOut: 5, Deadline: at(351), Confidence: .9, Probability: .93, Known: true, Missed: true,
				Overlaps: []dovetail.Overlap{{Class: "sort", Ratio: .5}}, Closed: "met",
			}},
			Draws: []dovetail.Draw{{
				Run: 7, At: at(1), Method: "bandit", Options: []dovetail.Option{{Run: 6, Probability: .25}, {Run: 7, Probability: .75}},
				Passed: []dovetail.RunID{6}, Beside: []string{"sort"}, Score: .625, Closed: "abandoned",
			}},
			Ends:    []dovetail.End{{Run: 7, Outcome: dovetail.OutcomeTimedOut, Why: "too long"}},
			Actions: dovetail.Actions{dovetail.RunReplicas{Slot: slot, N: 4, Frozen: true}, dovetail.StopRun{Run: 7}},
			Reasons: []dovetail.Reason{{Run: 8, Code: dovetail.NoCapacity}},
		}},
		dovetail.Fitted{Outlook: dovetail.Outlook{
			Class: "wordcount?input=small", InputSize: 24e9, Model: "bayes-cobell", Runs: 3, First: []dovetail.Stretch{{ScaleOut: 8, Seconds: 60.5}},
			Levels: []float64{.1, .5, .9}, ScaleOuts: []int{1, 8}, Alone: [][]float64{{100, 110, 120}, {10, 11.5, 13}},
			Beside: []dovetail.Beside{{Class: "sort", Runs: 2, Mean: .25, Seconds: [][]float64{{200, 210, 220}, {20, 21.5, 23}}}},
		}},
		dovetail.Imported{Runs: []dovetail.Past{fullPast(-1, "wordcount", "wordcount?input=small"), fullPast(2, "sort", "ada")}},
		dovetail.Used{
			Period: dovetail.Duration(time.Minute), Nodes: []dovetail.NodeUse{{Node: "node-0", CPU: .75, Wait: .125, Disk: 1.5, Net: 1.0 / 3}},
		},
		dovetail.Paired{Evidence: fullEvidence()},
		dovetail.Recalled{Classes: []dovetail.KnownClass{{
			Class: "sort", Seen: at(1), Forgotten: at(-1), Goodness: 7.25, Updates: 12.5,
			Preferences: []dovetail.Preference{{Class: "wordcount?input=small", H: -.5, Updates: 12.5, Goodness: 7.25}},
			Evidence:    new(fullEvidence()),
		}}, Back: true},
		dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "grep", Seen: at(1)}}, All: true},
		dovetail.Forgotten{Class: "sort"},
		dovetail.Tick{},
	}
}

func fullEvidence() dovetail.Evidence {
	return dovetail.Evidence{
		Class: "sort", Runs: 9, Until: at(1),
		Rates: []dovetail.Rate{{Beside: "wordcount?input=small", Rate: .7, Low: .6, High: .8, Runs: 4, Seconds: 300.5}},
	}
}

// fullPast is an imported run that ended so many seconds after the tests begin, with every field set.
func fullPast(ended int, app, class string) dovetail.Past {
	return dovetail.Past{
		Class: class, App: app, Params: map[string]string{"input": "small <&>"}, Ended: at(ended), Outcome: dovetail.OutcomeSucceeded, Preempted: true,
		Runtime: 1.0 / 3, ScaleOut: 5.6, Stretches: []dovetail.Stretch{{ScaleOut: 4, Seconds: .2}, {ScaleOut: 8, Seconds: .1}},
		Overlaps: []dovetail.Overlap{{Class: "sort", Ratio: .5}}, InputSize: 1 << 50, NodeClasses: []string{"big", "small"},
	}
}
