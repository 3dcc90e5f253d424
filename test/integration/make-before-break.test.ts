// At every crash of the descheduler, no pod is missing and none is left over.
import { hasCondition, KINDS, moveOwnerOf, readRelease, TEMPLATE_HASH_LABEL } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { SurgeWorld } from "../harness/descheduler/surge-world.ts";
import type { Arrival } from "../harness/descheduler/surge-world.ts";

/** Longer than a move's deadline. */
const STEPS = 80;
/** More writes than any of these moves needs. */
const MOST_WRITES = 16;

interface Expected {
  readonly pods: number;
  readonly serving: number;
  readonly most: number;
}

interface Scenario extends Expected {
  readonly arrival?: Arrival;
  readonly minAvailable?: number;
  readonly meanwhile?: (world: SurgeWorld) => Promise<unknown>;
  readonly outcome: string | null;
}

const WEB = { namespace: "shop", name: "web" };
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "the replacement is ready on the target": { pods: 2, serving: 2, most: 3, outcome: "on_target" },
  "a budget keeps all replicas": { minAvailable: 2, pods: 2, serving: 2, most: 3, outcome: "on_target" },
  "a budget refuses every eviction": {
    minAvailable: 2,
    meanwhile: (world) => world.protect(4),
    pods: 2,
    serving: 2,
    most: 3,
    outcome: "withdrawn",
  },
  "the replacement goes elsewhere": {
    arrival: "elsewhere",
    pods: 2,
    serving: 2,
    most: 3,
    outcome: "withdrawn",
  },
  "the replacement is never ready": {
    arrival: "unready",
    pods: 2,
    serving: 2,
    most: 3,
    outcome: "withdrawn",
  },
  "the replacement has no node": {
    arrival: "unscheduled",
    pods: 2,
    serving: 2,
    most: 3,
    outcome: "withdrawn",
  },
  "the Deployment is scaled up": {
    meanwhile: (world) => world.scale(4),
    pods: 4,
    serving: 2,
    most: 5,
    outcome: "on_target",
  },
  "the Deployment is scaled down": {
    meanwhile: (world) => world.scale(1),
    pods: 1,
    serving: 1,
    most: 3,
    outcome: "on_target",
  },
  "the Deployment is scaled to nothing": {
    meanwhile: (world) => world.scale(0),
    pods: 0,
    serving: 0,
    most: 3,
    outcome: null,
  },
  "the Deployment is deleted": {
    meanwhile: ({ rig }) => rig.store.delete({ ...KINDS.deployment, ...WEB }),
    pods: 0,
    serving: 0,
    most: 3,
    outcome: null,
  },
  "the ReplicaSet is deleted": {
    meanwhile: ({ rig }) => rig.store.delete({ ...KINDS.replicaSet, ...WEB, name: "web-1" }),
    pods: 0,
    serving: 0,
    most: 3,
    outcome: null,
  },
  "somebody deletes the pod that moves": {
    meanwhile: async (world) => {
      const { name } = (await world.released())!.metadata;
      await world.rig.store.delete({ ...KINDS.pod, ...WEB, name });
    },
    pods: 2,
    serving: 1,
    most: 3,
    outcome: "on_target",
  },
};

/** @returns whether a pod was released, so that the rest of the scenario took place */
async function played(scenario: Scenario, world: SurgeWorld): Promise<boolean> {
  await world.begin();
  if (scenario.minAvailable !== undefined) await world.protect(scenario.minAvailable);
  world.arrival = scenario.arrival ?? "target";
  let hasHappened = scenario.meanwhile === undefined;
  for (let step = 0; step < STEPS; step++) {
    if (!hasHappened && (await world.released()) !== undefined) {
      hasHappened = true;
      await scenario.meanwhile!(world);
    }
    await world.step();
  }
  return hasHappened;
}

async function expectWhole(world: SurgeWorld, { pods: count, serving, most }: Expected): Promise<void> {
  const pods = await world.pods();
  expect(pods).toHaveLength(count);
  for (const pod of pods) {
    expect(readRelease(pod)).toBeNull();
    expect(moveOwnerOf(pod)).toMatchObject({ kind: "ReplicaSet", name: "web-1" });
    expect(pod.metadata.ownerReferences).toHaveLength(1);
    expect(pod.metadata.labels).toMatchObject({ [TEMPLATE_HASH_LABEL]: "1" });
  }
  expect(world.leastServing).toBeGreaterThanOrEqual(serving);
  expect(world.mostPods).toBeLessThanOrEqual(most);
}

describe.each(Object.entries(SCENARIOS))("while a pod moves: %s", (_, scenario) => {
  test("no pod is missed, none is left over, and the outcome is the truth", async () => {
    const world = new SurgeWorld();
    await played(scenario, world);
    await expectWhole(world, scenario);
    const [first] = world.rig.progress.filter(({ stage }) => stage !== "replacing");
    const { outcome } = scenario;
    if (outcome === null) return;
    expect(await world.rig.metric("isochrone_descheduler_moves_total", `{outcome="${outcome}"}`)).toBe(1);
    const isMoved = outcome === "on_target";
    expect(first!.stage).toBe(isMoved ? "arrived" : "withdrawn");
    expect(first!.replacement?.node ?? null).toBe(isMoved ? first!.to : null);
    const isGone = (await world.pods()).every(({ metadata }) => metadata.name !== first!.pod);
    expect(isGone).toBe(isMoved);
  });

  test.each([true, false])("wherever the descheduler ends; its last write done: %s", async (isDone) => {
    for (let atWrite = 1; atWrite <= MOST_WRITES; atWrite++) {
      const world = new SurgeWorld({ atWrite, isDone });
      const hasHappened = await played(scenario, world);
      await expectWhole(world, hasHappened ? scenario : { pods: 2, serving: 2, most: 2 });
      if (world.writes < atWrite) break;
    }
  });
});

test("the move that a new leader finishes is the one that the old leader began", async () => {
  const world = new SurgeWorld();
  await world.begin();
  world.arrival = "unscheduled";
  await world.step();
  const old = await world.released();
  expect(old).toBeDefined();
  world.rig.replaceLeader();
  world.arrival = "target";
  await world.steps(4);
  const pods = await world.pods();
  expect(pods.filter((pod) => hasCondition(pod, "Ready"))).toHaveLength(2);
  expect(pods.map(({ metadata }) => metadata.name)).not.toContain(old!.metadata.name);
  expect(world.rig.progress.map(({ stage }) => stage)).toEqual(["replacing", "arrived"]);
  expect(world.rig.progress[1]).toMatchObject({ pod: old!.metadata.name, workload: "web", workflow: "flow" });
});
