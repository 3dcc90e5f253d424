import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { EMPTY_CLUSTER, type ClusterState, type NodeState, type PodState } from "../cluster-state.ts";
import { DownNodes, type PodLook } from "./down-nodes.ts";

const NAMES = ["a", "b", "c", "d"];
const SINCE = "2026-01-01T14:12:37.000Z";

function state(unready: readonly string[], pods: readonly PodState[]): ClusterState {
  const nodes = NAMES.map((name) => ({
    name,
    ready: !unready.includes(name),
    ...(unready.includes(name) ? { notReadySince: SINCE } : {}),
  }));
  return { ...EMPTY_CLUSTER, nodes: nodes as unknown as NodeState[], pods };
}

function pod(workload: string | null, index: number, node: string | null, kind = "Deployment"): PodState {
  const name = `${workload ?? "bare"}-${index}`;
  const workflow = { namespace: "shop", name: "shop" };
  return {
    namespace: "shop",
    name,
    node,
    workload: workload === null ? null : { kind, name: workload },
    workflow,
  };
}

interface Way {
  readonly lossRatio?: number | null;
  readonly answeredAt?: string | null;
  readonly origin?: Link["origin"];
}

/** A full mesh that answers, with exceptions by `way`. */
function graph(way: (source: string, target: string) => Way = () => ({})): ClusterGraphSnapshot {
  const links = NAMES.flatMap((source) =>
    NAMES.filter((target) => target !== source).map((target) => ({
      source,
      target,
      origin: "measured",
      lossRatio: 0,
      answeredAt: "2026-01-01T14:13:00.000Z",
      ...way(source, target),
    })),
  );
  return {
    windowSeconds: 30,
    nodes: NAMES.map((name) => ({ name })),
    links,
  } as unknown as ClusterGraphSnapshot;
}

function texts(nodes: DownNodes, of = graph()): (string | undefined)[] {
  return nodes.mark(of).nodes.flatMap(({ down }) => (down === undefined ? [] : [down.text]));
}

const running = (
  notReady: readonly string[] = [],
  desired: Readonly<Record<string, number>> = {},
): PodLook => ({
  isReady: ({ name }) => !notReady.includes(name),
  desiredReplicas: (_kind, { name }) => desired[name] ?? null,
});

describe("a node that isn't ready", () => {
  const before = [
    pod("web", 0, "b"),
    pod("web", 1, "a"),
    pod("cart", 0, "b"),
    pod("agent", 0, "b", "DaemonSet"),
    pod(null, 0, "b"),
  ];
  const desired = { web: 2, cart: 1 };
  const downWith = (pods: readonly PodState[], look: PodLook | null): (string | undefined)[] => {
    const nodes = new DownNodes();
    nodes.update(state([], before), graph(), look);
    expect(texts(nodes)).toEqual([]);
    nodes.update(state(["b"], pods), graph(), look);
    return texts(nodes);
  };

  test.each<[string, readonly PodState[], string]>([
    ["are still bound to it", before, "; 2 of its 2 pods are not running yet"],
    ["are deleted", [pod("web", 1, "a")], "; 2 of its 2 pods are not running yet"],
    [
      "wait for a node",
      [pod("web", 1, "a"), pod("web", 2, null), pod("cart", 1, "c")],
      "; 1 of its 2 pods are not running yet",
    ],
    [
      "are bound, and not ready",
      [pod("web", 1, "a"), pod("web", 2, "c"), pod("cart", 9, "c")],
      "; 1 of its 2 pods are not running yet",
    ],
    [
      "run elsewhere",
      [pod("web", 1, "a"), pod("web", 2, "c"), pod("cart", 1, "d")],
      "; its pods started elsewhere",
    ],
    [
      "run elsewhere beside the old ones",
      [...before, pod("web", 2, "c"), pod("cart", 1, "d")],
      "; its pods started elsewhere",
    ],
  ])("whose pods %s", (_what, pods, words) => {
    expect(downWith(pods, running(["cart-9"], desired))).toEqual([`b is not ready since ${SINCE}${words}`]);
  });

  test("replicas that nobody wants any more aren't waited for", () => {
    const [text] = downWith([pod("web", 1, "a"), pod("cart", 1, "c")], running([], { web: 1, cart: 1 }));
    expect(text).toBe(`b is not ready since ${SINCE}; its pods started elsewhere`);
  });

  test("pods are not claimed where nobody looks at them, or nobody saw them before", () => {
    expect(downWith(before, null)).toEqual([`b is not ready since ${SINCE}`]);
    const nodes = new DownNodes();
    nodes.update(state(["b"], [pod("web", 0, "a")]), graph(), running());
    expect(texts(nodes)).toEqual([`b is not ready since ${SINCE}`]);
    nodes.update(state([], []), graph(), running());
    expect(texts(nodes)).toEqual([]);
  });
});

describe("a ready node of which no probe hears", () => {
  const LAST = "2026-01-01T14:12:40.000Z";
  const dead = { lossRatio: 1, answeredAt: LAST };
  const silent = [`b is silent since ${LAST}: none of its peers gets an answer`];
  const of = (way: (source: string, target: string) => Way, unready: readonly string[] = []): unknown => {
    const nodes = new DownNodes();
    nodes.update(state(unready, []), graph(way), null);
    return texts(nodes);
  };

  test.each<[string, (source: string, target: string) => Way, readonly string[]]>([
    ["is silent, if its probe goes on", (s, t) => (s === "b" || t === "b" ? dead : {}), silent],
    [
      "is silent, if its probe is gone",
      (s, t) => (s === "b" ? { answeredAt: LAST } : t === "b" ? dead : {}),
      silent,
    ],
    ["isn't, while one peer hears of it", (s, t) => (t === "b" && s !== "a" ? dead : {}), []],
    ["isn't, while its own probes are answered", (_s, t) => (t === "b" ? dead : {}), []],
    [
      "isn't, where one peer alone asks",
      (s, t) => (t !== "b" ? (s === "b" ? dead : {}) : s === "a" ? dead : { lossRatio: null }),
      [],
    ],
    [
      "isn't, where its links are estimated",
      (s, t) => (s === "b" || t === "b" ? { ...dead, origin: "estimated" } : {}),
      [],
    ],
  ])("%s", (_what, way, words) => {
    expect(of(way)).toEqual(words);
  });

  test("has one line: that it isn't ready, once somebody says so", () => {
    expect(of((s, t) => (s === "b" || t === "b" ? dead : {}), ["b"])).toEqual([
      `b is not ready since ${SINCE}`,
    ]);
  });
});
