package httpapi

import (
	"fmt"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// urls returns the URLs of the replicas that are up, by replica and port: "notebook.0.ui". A URL that cannot be written,
// because it refers to a replica that is not up, is left out.
func urls(run *dovetail.Run, replicas []dovetail.ReplicaStatus) map[string]string {
	run = onlyURLs(run)
	if run == nil {
		return nil
	}
	var peers []expand.Peer
	for _, r := range replicas {
		if r.Down == nil && r.Up != nil {
			peers = append(peers, expand.Peer{Component: r.Component, Index: r.Index, Node: r.Node, Host: r.Host, Ports: r.Ports})
		}
	}
	found := map[string]string{}
	for _, r := range replicas {
		i := r.Replica.Component
		if r.Down != nil || r.Up == nil || i < 0 || i >= len(run.App.Components) || len(run.App.Components[i].Ports) == 0 {
			continue
		}
		c, err := expand.Component(run, i, r.Replica, expand.Self{Node: r.Node, Host: r.Host, Ports: r.Ports}, peers)
		if err != nil {
			continue
		}
		for name, p := range c.Ports {
			found[fmt.Sprintf("%s.%d.%s", r.Component, r.Index, name)] = p.URL
		}
	}
	return found
}

// onlyURLs returns a copy of the run whose components have nothing but the ports that have a URL, or nil if there is none.
func onlyURLs(run *dovetail.Run) *dovetail.Run {
	if run == nil || run.App == nil {
		return nil
	}
	app, some := *run.App, false
	app.Components = slices.Clone(app.Components)
	for i, c := range app.Components {
		bare := dovetail.Component{Name: c.Name, Ports: map[string]dovetail.Port{}}
		for name, p := range c.Ports {
			if p.URL != "" {
				bare.Ports[name], some = p, true
			}
		}
		app.Components[i] = bare
	}
	if !some {
		return nil
	}
	copied := *run
	copied.App = &app
	return &copied
}
