// Forged questions to the extender's port must not affect another pod's answer. Every attack here once
// worked.
import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { MemoryGraphs, podJson, workflowSnapshot } from "./testing/graphs.ts";
import { NAMES, rigClock, running } from "./testing/rig.ts";
import type { Running, SharedParts } from "./testing/rig.ts";

/** Resources only; n1 has most, so a reservation shows in the next answer. */
const BY_RESOURCES = { gamma: 1, delta: 0 };
const INVENTED_UID = "11111111-2222-3333-4444-555555555555";

interface Attacked extends Running {
  readonly shared: Required<SharedParts>;
  readonly add: (name: string, fields?: { namespace?: string; spec?: object }) => Promise<string>;
  readonly ask: (name: string, uid?: string, fields?: { spec?: object; verb?: string }) => Promise<unknown>;
  readonly priorities: (name: string, spec?: object) => Promise<Record<string, number>>;
  readonly count: (metric: string) => Promise<number>;
}

async function attacked(settings: Record<string, unknown> = BY_RESOURCES): Promise<Attacked> {
  const clock = rigClock();
  const shared = { clock, graphs: new MemoryGraphs(), store: createMemoryStore({ clock }) };
  const replica = await running({ podEvents: false, ...settings }, shared);
  await expect.poll(async () => (await replica.plugin.app.inject("/readyz")).statusCode).toBe(200);
  const { store } = shared;
  const ask: Attacked["ask"] = async (name, uid, { spec, verb = "prioritize" } = {}) => {
    const json = podJson(name, "p", uid);
    const Pod = spec === undefined ? json : { ...json, spec };
    return (await replica.post(verb, { Pod, NodeNames: NAMES })).json;
  };
  return {
    ...replica,
    shared,
    ask,
    add: async (name, { namespace = "shop", spec } = {}) => {
      const json = podJson(name, "p") as KubernetesObject;
      const metadata = { ...json.metadata, namespace };
      const made = await store.create({
        ...json,
        apiVersion: "v1",
        kind: "Pod",
        metadata,
        ...(spec === undefined ? {} : { spec: spec as Record<string, unknown> }),
      });
      await clock.advance(1);
      return made.metadata.uid!;
    },
    priorities: async (name, spec) => {
      const found = await store.get({ ...KINDS.pod, namespace: "shop", name });
      const answer = (await ask(name, found?.metadata.uid, spec === undefined ? {} : { spec })) as {
        Host: string;
        Score: number;
      }[];
      return Object.fromEntries(answer.map(({ Host, Score }) => [Host, Score]));
    },
    count: async (metric) => {
      const line = (await replica.metrics()).split("\n").find((text) => text.startsWith(metric));
      return Number(line?.split(" ").at(-1) ?? 0);
    },
  };
}

const requesting = (cpu: string): object => ({
  containers: [{ name: "main", resources: { requests: { cpu } } }],
});

function unmeasured(): WorkflowGraphSnapshot {
  const snapshot = workflowSnapshot();
  const unknown = { cpuMillicores: null, memoryBytes: null };
  return { ...snapshot, workloads: snapshot.workloads.map((each) => ({ ...each, ...unknown })) };
}

describe("invented questions", () => {
  test("40 about pods that the cluster doesn't have leave everybody's priorities as they are", async () => {
    const { ask, add, priorities } = await attacked();
    await add("honest-1");
    const before = await priorities("honest-1");
    expect(before["n1"]).toBe(10);
    for (let index = 0; index < 40; index++) await ask(`invented-${index}`, INVENTED_UID);
    for (let index = 0; index < 40; index++) await ask(`nameless-${index}`);
    expect(await priorities("honest-1")).toEqual(before);
  });

  test("600 push no honest decision out of the history", async () => {
    const { ask, add, decisions, count } = await attacked({ ...BY_RESOURCES, keptDecisions: 20 });
    for (let index = 0; index < 10; index++) {
      const uid = await add(`honest-${index}`);
      await ask(`honest-${index}`, uid);
    }
    for (let index = 0; index < 600; index++) await ask(`invented-${index}`, INVENTED_UID);
    const kept = (await decisions("?limit=100")).map(({ pod }) => pod.name);
    expect(kept.filter((name) => name.startsWith("honest-"))).toHaveLength(10);
    expect(kept.filter((name) => name.startsWith("invented-"))).toEqual([]);
    expect(await count("isochrone_scheduler_decisions_total")).toBeGreaterThan(600);
  });

  test("600 about one pending pod push no other decision out either", async () => {
    const { ask, add, decisions } = await attacked({ ...BY_RESOURCES, keptDecisions: 20 });
    for (let index = 0; index < 10; index++) await ask(`honest-${index}`, await add(`honest-${index}`));
    const uid = await add("asked-again");
    for (let index = 0; index < 600; index++) await ask("asked-again", uid);
    const kept = (await decisions("?limit=100")).map(({ pod }) => pod.name);
    expect(kept.filter((name) => name.startsWith("honest-"))).toHaveLength(10);
  });

  test("about a pod that has a node hides it from nobody", async () => {
    const { ask, add, shared, priorities } = await attacked();
    await add("honest-1");
    for (const name of ["bound-1", "bound-2", "bound-3"]) {
      await add(name);
      await shared.store.bind({ namespace: "shop", name }, "n1");
    }
    await shared.clock.advance(1);
    const before = await priorities("honest-1");
    expect(before["n1"]).toBeLessThan(10);
    for (const verb of ["prioritize", "filter"])
      for (const name of ["bound-1", "bound-2", "bound-3"]) {
        const found = await shared.store.get({ ...KINDS.pod, namespace: "shop", name });
        for (const uid of [undefined, INVENTED_UID, found!.metadata.uid]) await ask(name, uid, { verb });
      }
    expect(await priorities("honest-1")).toEqual(before);
  });

  test("about a nominated pod don't hide its nomination from others", async () => {
    const { ask, add, shared, priorities } = await attacked({ ...BY_RESOURCES, ledgerMs: 0 });
    await add("honest-1");
    for (const name of ["promised-1", "promised-2"]) {
      const uid = await add(name);
      const status = { nominatedNodeName: "n1" };
      await shared.store.patch(
        { ...KINDS.pod, namespace: "shop", name },
        { status },
        { subresource: "status" },
      );
      await shared.clock.advance(1);
      const before = await priorities("honest-1");
      await ask(name, uid, { verb: "filter" });
      await ask(name, uid);
      expect(await priorities("honest-1")).toEqual(before);
    }
    expect((await priorities("honest-1"))["n1"]).toBeLessThan(10);
  });

  test("about a pending pod reserve what the cluster says that it requests, not what the question says", async () => {
    const { ask, add, priorities, graphs } = await attacked();
    graphs.setWorkflow(unmeasured());
    const small = requesting("10m");
    await add("honest-1", { spec: small });
    const uid = await add("small-1", { spec: small });
    await ask("small-1", uid, { spec: small });
    const before = await priorities("honest-1", small);
    await ask("small-1", uid, { spec: requesting("1800m") });
    expect(await priorities("honest-1", small)).toEqual(before);
  });

  test("of another UID than the pod's reserve nothing, and are dropped after 5 s", async () => {
    const { ask, add, clock, count, priorities } = await attacked();
    await add("honest-1");
    await add("real-1");
    const before = await priorities("honest-1");
    for (let index = 0; index < 5; index++) await ask("real-1", INVENTED_UID);
    expect(await priorities("honest-1")).toEqual(before);
    await clock.advance(5_000);
    await priorities("honest-1");
    const dropped = 'isochrone_scheduler_unrecorded_decisions_total{reason="unconfirmed"}';
    expect(await count(dropped)).toBe(1);
  });
});

// Invalid amounts count as 0. The largest amount fills its node, never more.
test.each([
  ["1e308", {}],
  ["9007199254740", { n2: 10 }],
])(
  "cpu: %s leaves the sums of its node finite, for everybody, and as they were once it is gone",
  async (amount, expected) => {
    const { add, ask, shared, priorities, graphs } = await attacked();
    graphs.setWorkflow(unmeasured());
    const small = requesting("500m");
    await add("honest-1", { spec: small });
    await add("neighbour-1", { spec: requesting("10m") });
    await shared.store.bind({ namespace: "shop", name: "neighbour-1" }, "n1");
    await shared.clock.advance(1);
    const before = await priorities("honest-1", small);
    expect(before["n1"]).toBe(10);
    const requests = { cpu: amount, memory: amount };
    const spec = { containers: ["a", "b"].map((name) => ({ name, resources: { requests } })) };
    const uid = await add("huge-1", { spec });
    const answer = (await ask("huge-1", uid, { spec })) as { Score: number }[];
    expect(answer.every(({ Score }) => Number.isInteger(Score))).toBe(true);
    await shared.store.bind({ namespace: "shop", name: "huge-1" }, "n1");
    await shared.clock.advance(1);
    const after = await priorities("honest-1", small);
    expect(Object.values(after).every(Number.isInteger)).toBe(true);
    expect(after).toMatchObject(expected);
    await shared.store.delete({ ...KINDS.pod, namespace: "shop", name: "huge-1" }, { gracePeriodSeconds: 0 });
    await shared.clock.advance(1);
    expect(await priorities("honest-1", small)).toEqual(before);
  },
);

test("a question with names that no node can have is answered, and not kept", async () => {
  const { add, post, decisions, count } = await attacked();
  const uid = await add("p-1");
  const long = "n".repeat(100_000);
  const { status } = await post("prioritize", { Pod: podJson("p-1", "p", uid), NodeNames: ["n1", long] });
  expect(status).toBe(200);
  expect(await decisions()).toEqual([]);
  expect(await count('isochrone_scheduler_unrecorded_decisions_total{reason="misshapen"}')).toBe(1);
});
