package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// nodeInput names a node.
type nodeInput struct {
	Name string `path:"name" maxLength:"253"`
}

type nodesOutput struct{ Body nodesBody }

type nodesBody struct {
	Nodes []dovetail.NodeStatus `json:"nodes" nullable:"false" doc:"By name"`
}

type nodeOutput struct{ Body dovetail.NodeStatus }

type configInput struct{ Raw }

type configOutput struct{ Body dovetail.Config }

func (s *server) registerCluster(api huma.API) {
	huma.Register(api, operation(http.MethodGet, "/v1/nodes", "list-nodes", "List nodes", "cluster"), s.listNodes)
	verbs := []struct {
		name, summary string
		on, drain     bool
	}{
		{"cordon", "Give a node no new replicas", true, false},
		{"uncordon", "Give a node new replicas again", false, false},
		{"drain", "Give a node no new replicas, and take back the elastic ones it has", true, true},
	}
	for _, v := range verbs {
		op := operation(http.MethodPost, "/v1/nodes/{name}/"+v.name, v.name, v.summary, "cluster")
		huma.Register(api, op, func(ctx context.Context, in *nodeInput) (*nodeOutput, error) {
			return s.tellNode(ctx, dovetail.Cordoned{Node: in.Name, On: v.on, Drain: v.drain})
		})
	}
	huma.Register(api, operation(http.MethodGet, "/v1/config", "get-config", "Show the configuration in force", "cluster"), s.getConfig)
	put := operation(http.MethodPut, "/v1/config", "put-config", "Replace the configuration", "cluster")
	huma.Register(api, put, s.putConfig)
	describeBody(api.OpenAPI().Paths["/v1/config"].Put, configRequest(api.OpenAPI().Components.Schemas))
}

func (s *server) nodes(ctx context.Context) (nodes []dovetail.NodeStatus, err error) {
	err = s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { nodes = c.Nodes() })
	return nodes, err
}

func (s *server) listNodes(ctx context.Context, _ *struct{}) (*nodesOutput, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	return &nodesOutput{Body: nodesBody{Nodes: filled(nodes)}}, nil
}

// tellNode puts an event about a node on record and returns the node's status after it.
func (s *server) tellNode(ctx context.Context, e dovetail.Cordoned) (*nodeOutput, error) {
	if err := s.engine.Tell(ctx, e); err != nil {
		return nil, s.failure(ctx, err)
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	i := slices.IndexFunc(nodes, func(n dovetail.NodeStatus) bool { return n.Name == e.Node })
	if i < 0 {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.NotFound, "there is no node %q; GET /v1/nodes lists them", e.Node))
	}
	return &nodeOutput{Body: nodes[i]}, nil
}

func (s *server) getConfig(ctx context.Context, _ *struct{}) (*configOutput, error) {
	out := &configOutput{}
	if err := s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { out.Body = c.Config() }); err != nil {
		return nil, s.failure(ctx, err)
	}
	return out, nil
}

func (s *server) putConfig(ctx context.Context, in *configInput) (*configOutput, error) {
	var cfg dovetail.Config
	if err := s.jsonBody(in.Raw, &cfg); err != nil {
		return nil, s.failure(ctx, err)
	}
	if err := s.engine.Tell(ctx, dovetail.Configured{Config: cfg}); err != nil {
		return nil, s.failure(ctx, err)
	}
	return s.getConfig(ctx, nil)
}
