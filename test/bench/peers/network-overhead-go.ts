// Generates a module around the plugin's sources, because the checkout's own module needs unavailable
// versions and its benchmarks panic. The checkout is not modified.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SOURCES = [
  "apis/config",
  "apis/scheduling",
  "pkg/networkaware/networkoverhead",
  "pkg/networkaware/util",
  "pkg/util",
];
/** Modules that these import. The go command finds their dependencies. */
const MODULES = /^(github\.com\/diktyo-io\/|k8s\.io\/|sigs\.k8s\.io\/controller-runtime$)/;
/** Published from Kubernetes' own repository, all at one version. */
const STAGED = /^k8s\.io\/(?!klog|utils|kube-openapi|gengo)/;

/** Writes the module into `target`, an empty folder. Throws if `checkout` is not scheduler-plugins. */
export async function generateModule(
  checkout: string,
  target: string,
  kubernetesVersion: string,
): Promise<void> {
  const goMod = await readFile(join(checkout, "go.mod"), "utf8").catch((cause: unknown) => {
    throw new Error(`${checkout} must be a checkout of kubernetes-sigs/scheduler-plugins: it has no go.mod`, {
      cause,
    });
  });
  for (const folder of SOURCES) {
    await mkdir(join(target, folder), { recursive: true });
    await cp(join(checkout, folder), join(target, folder), {
      recursive: true,
      filter: (path) => !path.endsWith("_test.go"),
    });
  }
  await writeFile(join(target, "go.mod"), moduleText(goMod, kubernetesVersion));
  await writeFile(join(target, "pkg/networkaware/networkoverhead/isochrone_test.go"), TEST);
}

function moduleText(goMod: string, kubernetesVersion: string): string {
  const staged = `v0.${kubernetesVersion.slice("1.".length)}`;
  const required = [...goMod.matchAll(/^\s*(?:require )?([\w./-]+\.[\w./-]+) (v\S+)/gm)].filter(([, name]) =>
    MODULES.test(name!),
  );
  const replaced = [...goMod.matchAll(/^\s*(k8s\.io\/[\w-]+) => /gm)].map(([, name]) => name!);
  const versionOf = (name: string, version: string): string =>
    name === "k8s.io/kubernetes" ? `v${kubernetesVersion}` : STAGED.test(name) ? staged : version;
  const lines = [
    "module sigs.k8s.io/scheduler-plugins",
    `go ${/^go (\S+)/m.exec(goMod)?.[1] ?? "1.25.0"}`,
    ...required.map(([, name, version]) => `require ${name} ${versionOf(name!, version!)}`),
    ...replaced
      .filter((name) => STAGED.test(name) && name !== "k8s.io/kubernetes")
      .map((name) => `replace ${name} => ${name} ${staged}`),
  ];
  return `${[...new Set(lines)].join("\n")}\n`;
}

/** As in the real plugin, the client copies objects and Filter and Score run on 16 goroutines. */
const TEST = String.raw`package networkoverhead

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	testClientSet "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agv1alpha1 "github.com/diktyo-io/appgroup-api/pkg/apis/appgroup/v1alpha1"
	ntv1alpha1 "github.com/diktyo-io/networktopology-api/pkg/apis/networktopology/v1alpha1"
)

type cachedClient struct {
	client.Client
	group    *agv1alpha1.AppGroup
	topology *ntv1alpha1.NetworkTopology
}

func (c *cachedClient) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch object := into.(type) {
	case *agv1alpha1.AppGroup:
		c.group.DeepCopyInto(object)
	case *ntv1alpha1.NetworkTopology:
		c.topology.DeepCopyInto(object)
	default:
		return fmt.Errorf("unexpected %T", into)
	}
	return nil
}

type benchHandle struct {
	fwk.Handle
	lister fwk.SharedLister
}

func (h *benchHandle) SnapshotSharedLister() fwk.SharedLister { return h.lister }

func mulberry32(seed uint32) func() uint32 {
	return func() uint32 {
		seed += 0x6D2B79F5
		t := seed
		t = (t ^ (t >> 15)) * (t | 1)
		t ^= t + (t^(t>>7))*(t|61)
		return t ^ (t >> 14)
	}
}

func zoneName(p int) string { return fmt.Sprintf("z%d-%d", p/10, p%10) }

func fixtureTopology() *ntv1alpha1.NetworkTopology {
	regions, zones := ntv1alpha1.OriginList{}, ntv1alpha1.OriginList{}
	for a := 0; a < 10; a++ {
		costs := ntv1alpha1.CostList{}
		for b := 0; b < 10; b++ {
			if a != b {
				costs = append(costs, ntv1alpha1.CostInfo{Destination: fmt.Sprintf("r%d", b), NetworkCost: int64(20 + (31*a+17*b)%61)})
			}
		}
		regions = append(regions, ntv1alpha1.OriginInfo{Origin: fmt.Sprintf("r%d", a), CostList: costs})
	}
	for p := 0; p < 100; p++ {
		costs := ntv1alpha1.CostList{}
		for q := 0; q < 100; q++ {
			if p != q {
				costs = append(costs, ntv1alpha1.CostInfo{Destination: zoneName(q), NetworkCost: int64(1 + (13*p+7*q)%15)})
			}
		}
		zones = append(zones, ntv1alpha1.OriginInfo{Origin: zoneName(p), CostList: costs})
	}
	return &ntv1alpha1.NetworkTopology{
		ObjectMeta: metav1.ObjectMeta{Name: "nt", Namespace: "default", UID: types.UID("nt")},
		Spec: ntv1alpha1.NetworkTopologySpec{Weights: ntv1alpha1.WeightList{{Name: "UserDefined", TopologyList: ntv1alpha1.TopologyList{
			{TopologyKey: ntv1alpha1.NetworkTopologyRegion, OriginList: regions},
			{TopologyKey: ntv1alpha1.NetworkTopologyZone, OriginList: zones},
		}}}},
	}
}

func fixtureGroup() *agv1alpha1.AppGroup {
	dependencies := agv1alpha1.DependenciesList{}
	workloads := agv1alpha1.AppGroupWorkloadList{}
	reference := func(name string) agv1alpha1.AppGroupWorkloadInfo {
		return agv1alpha1.AppGroupWorkloadInfo{Kind: "Deployment", APIVersion: "apps/v1", Namespace: "default", Name: name, Selector: name}
	}
	for w := 0; w < 10; w++ {
		name := fmt.Sprintf("w%d", w)
		dependencies = append(dependencies, agv1alpha1.DependenciesInfo{Workload: reference(name), MaxNetworkCost: int64(30 + 4*w)})
		workloads = append(workloads, agv1alpha1.AppGroupWorkload{Workload: reference(name)})
	}
	workloads = append(workloads, agv1alpha1.AppGroupWorkload{Workload: reference("wt"), Dependencies: dependencies})
	return &agv1alpha1.AppGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "fixture", Namespace: "default", UID: types.UID("ag")},
		Spec:       agv1alpha1.AppGroupSpec{NumMembers: 11, TopologySortingAlgorithm: "KahnSort", Workloads: workloads},
	}
}

func fixturePod(name, workload, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{
			agv1alpha1.AppGroupLabel: "fixture", agv1alpha1.AppGroupSelectorLabel: workload}},
		Spec: v1.PodSpec{NodeName: node},
	}
}

func fixturePlugin(n int) (*NetworkOverhead, []fwk.NodeInfo) {
	nodes := []*v1.Node{}
	for i := 0; i < n; i++ {
		p := (i%10)*10 + (i/10)%10
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i), Labels: map[string]string{
			v1.LabelTopologyRegion: fmt.Sprintf("r%d", i%10), v1.LabelTopologyZone: zoneName(p)}}})
	}
	informer := informers.NewSharedInformerFactory(testClientSet.NewClientset(), 0).Core().V1().Pods()
	next := mulberry32(42)
	for k := 0; k < 50; k++ {
		host := fmt.Sprintf("n-%d", next()%uint32(n))
		if err := informer.Informer().GetIndexer().Add(fixturePod(fmt.Sprintf("placed-%d", k), fmt.Sprintf("w%d", k%10), host)); err != nil {
			panic(err)
		}
	}
	lister := internalcache.NewSnapshot(nil, nodes)
	infos, err := lister.NodeInfos().List()
	if err != nil {
		panic(err)
	}
	return &NetworkOverhead{
		Client: &cachedClient{group: fixtureGroup(), topology: fixtureTopology()}, podLister: informer.Lister(),
		handle: &benchHandle{lister: lister}, namespaces: []string{"default"}, weightsName: "UserDefined", ntName: "nt",
	}, infos
}

func chunk(n int) workqueue.Options { return workqueue.WithChunkSize(n/16 + 1) }

// TestIsochrone runs whole scheduling cycles of one pod over all nodes.
func TestIsochrone(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("ISOCHRONE_ROUNDS"))
	for _, text := range strings.Split(os.Getenv("ISOCHRONE_NODES"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		plugin, infos := fixturePlugin(n)
		pod := fixturePod("tested", "wt", "")
		times := []float64{}
		var pass, rawSum, scoreSum int64
		var least, most int64
		for round := 0; round < rounds; round++ {
			ctx := context.Background()
			start := time.Now()
			state := framework.NewCycleState()
			if _, status := plugin.PreFilter(ctx, state, pod, infos); !status.IsSuccess() {
				t.Fatal(status.Message())
			}
			passed := make([]bool, len(infos))
			workqueue.ParallelizeUntil(ctx, 16, len(infos), func(i int) {
				passed[i] = plugin.Filter(ctx, state, pod, infos[i]).IsSuccess()
			}, chunk(len(infos)))
			scores := make(fwk.NodeScoreList, len(infos))
			workqueue.ParallelizeUntil(ctx, 16, len(infos), func(i int) {
				score, _ := plugin.Score(ctx, state, pod, infos[i])
				scores[i] = fwk.NodeScore{Name: infos[i].Node().Name, Score: score}
			}, chunk(len(infos)))
			raw := make([]int64, len(scores))
			for i := range scores {
				raw[i] = scores[i].Score
			}
			plugin.NormalizeScore(ctx, state, pod, scores)
			times = append(times, float64(time.Since(start).Microseconds())/1000)
			pass, rawSum, scoreSum, least, most = 0, 0, 0, raw[0], raw[0]
			for i := range scores {
				if passed[i] {
					pass++
				}
				rawSum += raw[i]
				scoreSum += scores[i].Score
				least, most = min(least, raw[i]), max(most, raw[i])
			}
		}
		sort.Float64s(times)
		line, _ := json.Marshal(map[string]any{"nodes": n, "medianMs": times[len(times)/2], "pass": pass, "rawSum": rawSum, "min": least, "max": most, "scoreSum": scoreSum})
		fmt.Printf("ISOCHRONE %s\n", line)
	}
}
`;
