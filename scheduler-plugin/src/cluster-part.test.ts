import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { describe, expect, test } from "vitest";
import { MemoryGraphs, podJson, workflowSnapshot } from "./testing/graphs.ts";
import { NAMES, rigClock, running } from "./testing/rig.ts";
import type { Running, SharedParts } from "./testing/rig.ts";

interface Cluster extends Required<SharedParts> {
  readonly add: (name: string, workload: string) => Promise<void>;
}

function cluster(): Cluster {
  const clock = rigClock();
  const graphs = new MemoryGraphs();
  const store = createMemoryStore({ clock });
  return {
    clock,
    graphs,
    store,
    add: async (name, workload) => void (await store.create(pod(name, workload))),
  };
}

const pod = (name: string, workload: string): KubernetesObject =>
  ({ apiVersion: "v1", kind: "Pod", ...podJson(name, workload) }) as KubernetesObject;

/** Asks about the pod as kube-scheduler does, with its UID if the cluster has the pod. */
async function scores({ post, store }: Running, name: string, workload: string): Promise<unknown> {
  const found = await store?.get({ ...KINDS.pod, namespace: "shop", name });
  const uid = found?.metadata.uid;
  return (await post("prioritize", { Pod: podJson(name, workload, uid), NodeNames: NAMES })).json;
}

const ready = async ({ plugin }: Running): Promise<number> => (await plugin.app.inject("/readyz")).statusCode;

describe("two replicas of the scheduler-plugin", () => {
  test("answer alike once both have seen what kube-scheduler did with what one of them said", async () => {
    const shared = cluster();
    const [first, second] = [
      await running({ gamma: 1, delta: 0 }, shared),
      await running({ gamma: 1, delta: 0 }, shared),
    ];
    await expect.poll(() => ready(first)).toBe(200);
    await expect.poll(() => ready(second)).toBe(200);
    for (const name of ["p-1", "p-2", "p-3"]) {
      await shared.add(name, "p");
      await scores(first, name, "p");
      await shared.store.bind({ namespace: "shop", name }, "n1");
    }
    // Three pods of 500 m bring n1 from 2,000 m below the 1,000 m of n2.
    const wanted = [
      { Host: "n1", Score: expect.any(Number) },
      { Host: "n2", Score: 10 },
      { Host: "n3", Score: expect.any(Number) },
    ];
    await expect.poll(() => scores(second, "p-9", "p")).toEqual(wanted);
    expect(await scores(first, "p-9", "p")).toEqual(await scores(second, "p-9", "p"));
  });

  test("agree about nominations, and a nominated pod is not held against itself", async () => {
    const shared = cluster();
    shared.graphs.setWorkflow(workflowSnapshot({ q: {}, r: {} }));
    const [first, second] = [
      await running({ gamma: 0, delta: 1 }, shared),
      await running({ gamma: 0, delta: 1 }, shared),
    ];
    await shared.add("p-1", "p");
    await shared.store.patch(
      { ...KINDS.pod, namespace: "shop", name: "p-1" },
      { status: { nominatedNodeName: "n3" } },
      { subresource: "status" },
    );
    for (const replica of [first, second]) {
      // q talks to p, so the node promised to p attracts it.
      await expect.poll(async () => bestOf(await scores(replica, "q-1", "q"))).toBe("n3");
      // Once q's decision is forgotten, nothing else is placed and nothing attracts p.
      await shared.clock.advance(5_000);
      expect(
        new Set(((await scores(replica, "p-1", "p")) as { Score: number }[]).map(({ Score }) => Score)).size,
      ).toBe(1);
    }
  });

  test.each(["deleted", "unschedulable"])("forget pods that are %s", async (fate) => {
    const shared = cluster();
    const replica = await running({ gamma: 1, delta: 0 }, shared);
    await expect.poll(() => ready(replica)).toBe(200);
    await shared.add("p-1", "p");
    expect(bestOf(await scores(replica, "p-1", "p"))).toBe("n1");
    expect(bestOf(await scores(replica, "p-9", "p"))).toBe("n2");
    const ref = { ...KINDS.pod, namespace: "shop", name: "p-1" };
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }];
    if (fate === "deleted") await shared.store.delete(ref, { gracePeriodSeconds: 0 });
    else await shared.store.patch(ref, { status: { conditions } }, { subresource: "status" });
    await expect.poll(async () => bestOf(await scores(replica, "p-9", "p"))).toBe("n1");
  });
});

test("a decision counts for seconds only while the cluster doesn't show it", async () => {
  const shared = cluster();
  const replica = await running({ gamma: 1, delta: 0 }, shared);
  for (const name of ["p-1", "p-2"]) await shared.add(name, "p");
  await expect.poll(() => ready(replica)).toBe(200);
  expect(bestOf(await scores(replica, "p-1", "p"))).toBe("n1");
  expect(bestOf(await scores(replica, "p-2", "p"))).toBe("n2");
  await shared.clock.advance(5_000);
  expect(bestOf(await scores(replica, "p-5", "p"))).toBe("n1");
});

test("a pod gets one Event when it has its node, which says what was decided and whether it was followed", async () => {
  const shared = cluster();
  const replica = await running({}, shared);
  await expect.poll(() => ready(replica)).toBe(200);
  for (const [name, node] of [
    ["p-1", "n2"],
    ["p-2", "n3"],
    ["stranger", "n1"],
  ] as const) {
    await shared.add(name, name === "stranger" ? "stranger" : "p");
    for (let attempt = 0; attempt < 3; attempt++)
      await scores(replica, name, name === "stranger" ? "stranger" : "p");
    await shared.store.bind({ namespace: "shop", name }, node);
  }
  const notes = async (): Promise<string[]> => {
    await shared.clock.advance(1_000);
    return (await eventsIn(shared.store)).map(
      ({ reason, regarding, note }) => `${reason} ${regarding.name}: ${note}`,
    );
  };
  await expect.poll(async () => (await notes()).length).toBe(2);
  const written = (await notes()).toSorted();
  expect(written[0]).toMatch(/^NetworkAwarePlacement p-1: on n2, scored by resource-network/);
  expect(written[1]).toMatch(
    /^NetworkAwarePlacementOverruled p-2: on n3 by kube-scheduler's own plugins; resource-network would have chosen n/,
  );
});

interface WrittenEvent {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string };
}

async function eventsIn(store: ClusterStore): Promise<WrittenEvent[]> {
  return (await store.list(KINDS.event)).items as unknown as WrittenEvent[];
}

function bestOf(list: unknown): string {
  return (list as { Host: string; Score: number }[]).reduce((a, b) => (b.Score > a.Score ? b : a)).Host;
}
