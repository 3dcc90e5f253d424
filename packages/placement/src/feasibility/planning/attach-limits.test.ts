import { array, assert, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { plan } from "../../planner/search/plan.ts";
import type { ApiObject } from "../objects/json.ts";
import { inQueueOrder } from "../queue-order.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { aModel, aNode, aPod } from "../testing/objects.ts";
import { allowedNodes, problemOf } from "../testing/plans.ts";

const DRIVER = "disk.example.com";
const SLOTS = `attachable-volumes-csi-${DRIVER}`;

const volume = (name: string): ApiObject => ({
  metadata: { name: `pv-${name}` },
  spec: { csi: { driver: DRIVER, volumeHandle: name } },
});
const claim = (name: string): ApiObject => ({
  metadata: {
    name,
    namespace: "default",
    annotations: { "pv.kubernetes.io/bind-completed": "yes" },
  } as { name: string; namespace: string },
  spec: { volumeName: `pv-${name}` },
  status: { phase: "Bound" },
});
const attachment = (name: string, nodeName: string): ApiObject => ({
  metadata: { name: `attached-${name}` },
  spec: { nodeName, attacher: DRIVER, source: { persistentVolumeName: `pv-${name}` } },
});
const limited = (name: string, count: number): ApiObject => ({
  metadata: { name },
  spec: { drivers: [{ name: DRIVER, allocatable: { count } }] },
});
const using = (name: string, claims: readonly string[], node?: string): ApiObject =>
  aPod(name, {
    ...(node === undefined ? {} : { node }),
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  });

function modelOf(
  limits: Readonly<Record<string, number | null>>,
  pods: readonly ApiObject[],
  volumes: readonly string[],
  attachments: readonly ApiObject[] = [],
): SchedulingModel {
  return aModel(
    Object.keys(limits).map((name) => aNode(name)),
    pods,
    {
      persistentVolumes: volumes.map(volume),
      persistentVolumeClaims: volumes.map(claim),
      csiNodes: Object.entries(limits).flatMap(([name, count]) =>
        count === null ? [] : [limited(name, count)],
      ),
      volumeAttachments: attachments,
    },
  );
}

function slotsOf(model: SchedulingModel, pods: readonly ApiObject[]): Record<string, [number, number]> {
  const { nodes, resources } = problemOf(model, pods);
  const at = resources.indexOf(SLOTS);
  return Object.fromEntries(
    nodes.map(({ name, free, allocatable }) => [name, [free[at]!, allocatable[at]!]]),
  );
}

describe("attach limits in a plan", () => {
  test("are slots that its pods share with those on the node, and with volumes that have no pod", () => {
    const model = modelOf(
      { a: 4, b: 2, c: null },
      [using("x", ["1", "2"], "a")],
      ["1", "2", "3", "4", "5"],
      [attachment("2", "a"), attachment("3", "a")],
    );
    const pods = [using("p", ["4", "5"])];
    expect(slotsOf(model, pods)).toEqual({ a: [1, 4], b: [2, 2], c: [2 ** 31, 2 ** 31] });
    expect([...problemOf(model, pods).pods[0]!.demand].at(-1)).toBe(2);
    expect(allowedNodes(problemOf(model, pods))).toEqual(["b", "c"]);
  });

  test("hold those back that are nominated before", () => {
    const model = modelOf({ a: 2 }, [], ["1", "2"]);
    model.nominate(using("x", ["1"]), "a");
    expect(slotsOf(model, [using("p", ["2"])])).toEqual({ a: [1, 2] });
  });

  test("leave a pod that runs the slots that it has", () => {
    const model = modelOf({ a: 1, b: 1 }, [using("p", ["1"], "a")], ["1"], [attachment("1", "a")]);
    const problem = problemOf(model, [using("p", ["1"])]);
    // A running pod's slots aren't free; the planner returns them to it.
    expect(slotsOf(model, [using("p", ["1"])])).toEqual({ a: [0, 1], b: [1, 1] });
    expect(problem.pods[0]).toMatchObject({ current: 0 });
  });

  test("are none where no driver has any, and no pod uses a volume of it", () => {
    const model = modelOf({ a: null }, [], ["1"]);
    expect(problemOf(model, [using("p", ["1"])]).resources).not.toContain(SLOTS);
    expect(problemOf(modelOf({ a: 1 }, [], ["1"]), [aPod("p")]).resources).not.toContain(SLOTS);
  });

  test("are kept: as many pods are planned as there are slots, and each is let in", () => {
    const clusters = record({
      limits: array(integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 5 }),
      placed: array(integer({ min: 0, max: 4 }), { maxLength: 4 }),
      pods: integer({ min: 1, max: 6 }),
      seed: integer({ min: 0, max: 99 }),
    });
    let short = 0;
    assert(
      property(clusters, ({ limits, placed, pods: count, seed }) => {
        const nodeOf = (index: number): string => `n${index % limits.length}`;
        const old = placed.map((node, index) => using(`old${index}`, [`old${index}`], nodeOf(node)));
        const pods = Array.from({ length: count }, (_, index) => using(`new${index}`, [`new${index}`]));
        const volumes = [...placed.keys()].map((index) => `old${index}`);
        const byName = Object.fromEntries(limits.map((limit, node) => [`n${node}`, limit]));
        const model = modelOf(byName, old, [...volumes, ...pods.keys().map((index) => `new${index}`)]);
        const free = limits.map((limit, node) => {
          return Math.max(0, limit - placed.filter((at) => nodeOf(at) === `n${node}`).length);
        });
        const room = free.reduce((sum, slots) => sum + slots, 0);
        const found = plan(problemOf(model, pods), {
          seed,
          now: () => 0,
          deadlineMs: 1,
          effort: 2_000,
          partial: true,
        });
        expect(found.assignment.filter((node) => node >= 0)).toHaveLength(Math.min(count, room));
        if (room < count) short++;
        const { steps } = inQueueOrder({ model, pods, assignment: found.assignment });
        expect(steps.map(({ rejection }) => rejection).filter((one) => one !== null)).toEqual([]);
        expect(steps).toHaveLength(Math.min(count, room));
      }),
      { numRuns: 200, seed: 7 },
    );
    expect(short).toBeGreaterThan(20);
  });
});
