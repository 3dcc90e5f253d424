import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import { channel, workload } from "@isochrone/placement/testing";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import type { PromisedNodes } from "./pod-promises.ts";
import { workflowSnapshot } from "../../testing/graphs.ts";
import { AMONG, asked, NAMES, nodeObject, promiseRig, shown } from "../../testing/promise-rig.ts";

describe("at its admission a pod", () => {
  test("of a workflow that runs gets three nodes, where its traffic is first", () => {
    const { promise } = promiseRig();
    const { affinity, annotations } = promise(asked())!;
    // p exchanges twice as much with q on n2 as with r on n3.
    expect(annotations[AMONG]!.split(",")).toHaveLength(3);
    expect(annotations["isochrone.dev/planned-node"]).toBe("n2");
    const field = (name: string): object => ({ key: "metadata.name", operator: "In", values: [name] });
    expect(affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: annotations[AMONG]!.split(",").map((name) => ({ matchFields: [field(name)] })),
        },
        preferredDuringSchedulingIgnoredDuringExecution: annotations[AMONG]!.split(",").map(
          (name, place) => ({
            weight: [100, 10, 1][place],
            preference: { matchFields: [field(name)] },
          }),
        ),
      },
    });
  });

  test("goes to the zone in which its Service lacks replicas, and to no other before it has them", () => {
    const { promise, nodesOf, wishes } = promiseRig();
    const wish = (east: number): void =>
      wishes.replace(
        new Map([
          [
            "shop/Deployment/p",
            {
              wanted: new Map([
                ["east", east],
                ["west", 1],
              ]),
              there: new Map(),
            },
          ],
        ]),
      );
    wish(2);
    for (let trial = 0; trial < 3; trial++) promise(asked(), { isDryRun: true });
    const first = [1, 2, 3, 4].map(() => nodesOf(asked())![0]!);
    expect(first.map((name) => (NAMES.indexOf(name) < 3 ? "west" : "east")).sort()).toEqual([
      "east",
      "east",
      "west",
      "west",
    ]);
  });

  test("goes anywhere when the zone in which its Service lacks replicas is full", () => {
    const { nodesOf, wishes } = promiseRig();
    wishes.replace(new Map([["shop/Deployment/p", { wanted: new Map([["east", 9]]), there: new Map() }]]));
    const large = asked({ cpu: "3500m" });
    const nodes = Array.from({ length: 3 }, () => nodesOf(large)?.[0]);
    expect(new Set(nodes)).toEqual(new Set(["n4", "n5", "n6"]));
    expect(nodesOf(large)![0]).toBe("n2");
  });

  test("gets another place than the one before it, of the same millisecond", () => {
    const { nodesOf } = promiseRig();
    const large = asked({ cpu: "2500m" });
    expect(nodesOf(large)![0]).toBe("n2");
    expect(nodesOf(large)).not.toContain("n2");
  });

  test("gets another place also when a node has changed in between", () => {
    const { nodesOf, model } = promiseRig();
    const large = asked({ cpu: "2500m" });
    expect(nodesOf(large)![0]).toBe("n2");
    const before = model.model;
    model.rebuild();
    expect(nodesOf(large)).not.toContain("n2");
    expect(model.model).not.toBe(before);
    expect(model.isStaying("shop/q-1")).toBe(true);
    expect(model.model.nodeOf("shop/q-1")!.name).toBe("n2");
  });

  test("finds the model made after a change of nodes, for a minute after the last question", async () => {
    const { promise, promises, model, clock, listed } = promiseRig();
    promise(asked());
    const looks = (): number => {
      const before = listed();
      model.rebuild();
      promises.expire();
      return listed() - before;
    };
    expect(looks()).toBe(1);
    await clock.advance(59_000);
    expect(looks()).toBe(1);
    await clock.advance(1_000);
    expect(looks()).toBe(0);
  });

  test("gets a place that was promised to one that never came, ten seconds later", async () => {
    const { nodesOf, promises, clock } = promiseRig();
    const large = asked({ cpu: "2500m" });
    nodesOf(large);
    await clock.advance(9_000);
    promises.expire();
    expect(nodesOf(large)).not.toContain("n2");
    await clock.advance(1_000);
    promises.expire();
    expect(nodesOf(large)![0]).toBe("n2");
  });

  test("that came keeps its place under its own name, with a decision of its own", () => {
    const { promise, promises, model, decisions, ledger } = promiseRig();
    const promised = promise(asked())!;
    const pod = shown(asked(), "p-5d4f-x1", promised);
    const kept = promises.redeem(pod)!;
    expect(kept).toMatchObject({ node: "n2", workflow: "shop/flow" });
    expect(promises.redeem(pod)).toBeNull();
    expect(ledger.assumed("shop", "flow")).toEqual([{ workload: "p", name: "p-5d4f-x1", node: "n2" }]);
    expect([...model.model.node("n2")!.pods.keys()]).toEqual(["shop/q-1"]);
    expect(decisions.get(kept.decision)).toMatchObject({
      kind: "plan",
      mode: "admission",
      plan: null,
      best: "n2",
      pod: { namespace: "shop", name: "p-5d4f-x1" },
    });
  });

  test("of another controller or namespace can't have what was promised to others", () => {
    const { promise, promises } = promiseRig();
    const promised = promise(asked())!;
    for (const metadata of [{ namespace: "other" }, { ownerReferences: [] }])
      expect(promises.redeem(shown(asked({ metadata }), "p-5d4f-x1", promised))).toBeNull();
    expect(promises.redeem(shown(asked(), "p-5d4f-x1", promised))).not.toBeNull();
  });

  test("that never comes is one of 200 at most that hold places", () => {
    const { promise, graphs } = promiseRig({ hostnameMaxSkew: 0 });
    graphs.setWorkflow({ ...workflowSnapshot() });
    const held = Array.from({ length: 300 }, () => promise(asked({ cpu: "1m" }))).filter(
      (promised) => promised !== null,
    );
    expect(held).toHaveLength(200);
  });

  test("that is only tried takes no place", () => {
    const { promise, nodesOf } = promiseRig();
    const large = asked({ cpu: "2500m" });
    expect(promise(large, { isDryRun: true })!.annotations["isochrone.dev/planned-node"]).toBe("n2");
    expect(nodesOf(large)![0]).toBe("n2");
  });

  test("keeps the terms that it has, narrowed", () => {
    const { promise } = promiseRig();
    const own = { matchExpressions: [{ key: "disk", operator: "In", values: ["hdd"] }] };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [own] } };
    const { affinity, annotations } = promise(asked({ spec: { affinity: { nodeAffinity: required } } }))!;
    const among = annotations[AMONG]!.split(",");
    expect(among.toSorted()).toEqual(["n2", "n4", "n6"]);
    const hostnames = { key: "kubernetes.io/hostname", operator: "In", values: among };
    expect(affinity).toMatchObject({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [...own.matchExpressions, hostnames] }],
        },
      },
    });
  });

  test.each<
    [
      string,
      Readonly<Record<string, unknown>>,
      (around: ReturnType<typeof promiseRig>) => PromisedNodes | null,
    ]
  >([
    ["its landing is another one", { landing: "nomination" }, ({ promise }) => promise(asked())],
    ["pods are released in order", { release: "ordered" }, ({ promise }) => promise(asked())],
    [
      "its AppGroup's pods are released in order",
      {},
      ({ promise }) => {
        const annotations = { "isochrone.dev/release": "ordered" };
        return promise(asked(), {
          appGroup: { ...KINDS.appGroup, metadata: { namespace: "shop", name: "a", annotations } },
        });
      },
    ],
    [
      "its AppGroup isn't known",
      {},
      ({ promise }) => {
        const labels = { ...asked().metadata.labels, "appgroup.diktyo.x-k8s.io": "a" };
        return promise(asked({ metadata: { labels } }));
      },
    ],
    [
      "nobody would make another one in its place",
      {},
      ({ promise, around }) => {
        around.mayBind = false;
        return promise(asked());
      },
    ],
    [
      "a pod of its controller is being moved",
      {},
      ({ promise, around }) => {
        around.isMoving = true;
        return promise(asked());
      },
    ],
    [
      "it waits for others",
      {},
      ({ promise }) => promise(asked({ spec: { schedulingGates: [{ name: "quota" }] } })),
    ],
    [
      "it is a copy of a pod that was bound to nodes",
      {},
      ({ promise }) => promise(asked({ metadata: { annotations: { [AMONG]: "n1" } } })),
    ],
    [
      "it is one of a gang",
      {},
      ({ promise }) => promise(asked({ spec: { schedulingGroup: { podGroupName: "gang" } } })),
    ],
    [
      "what it talks to isn't there",
      {},
      ({ promise, model, bind }) => {
        bind("q-1", "q", "n2");
        model.takePod(
          { type: "deleted", object: { ...KINDS.pod, metadata: { namespace: "shop", name: "q-1" } } },
          false,
        );
        return promise(asked());
      },
    ],
    [
      "what it talks to is about to go",
      {},
      ({ promise, bind }) => {
        bind("q-1", "q", "n2", { deletionTimestamp: "2026-01-01T00:00:00Z" });
        return promise(asked());
      },
    ],
    ["nobody knows its workload", {}, ({ promise }) => promise(asked({ workload: "unheard-of" }))],
    [
      "the graphs are old",
      {},
      ({ promise, graphs }) => {
        graphs.setWorkflow({ ...workflowSnapshot(), observedAt: "2025-01-01T00:00:00Z" });
        return promise(asked());
      },
    ],
    [
      "fewer than three nodes would take it",
      {},
      ({ promise }) => {
        const own = [{ key: "kubernetes.io/hostname", operator: "In", values: ["n1", "n2"] }];
        const terms = { nodeSelectorTerms: [{ matchExpressions: own }] };
        const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
        return promise(asked({ spec: { affinity: { nodeAffinity } } }));
      },
    ],
  ])("is promised nothing where %s", (_, settings, ask) => {
    const around = promiseRig(settings);
    expect(ask(around)).toBeNull();
    expect(around.ledger.assumed("shop", "flow")).toEqual([]);
  });
});

test("of many pods at once none is promised what others have, nor a node that it doesn't allow", () => {
  const random = seededRandom(11);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
  const around = promiseRig({ hostnameMaxSkew: 0 });
  const { promise, promises, graphs } = around;
  graphs.setWorkflow({
    ...workflowSnapshot(),
    workloads: ["p", "q", "r"].map((name) =>
      workload(name, { cpu: 100, memory: 1e6 }, { [`${name}-1`]: "n2" }),
    ),
    channels: [channel("p", "q", 1_000), channel("r", "p", 500), channel("r", "q", 100)],
  });
  const alone = SchedulingModel.of({ nodes: NAMES.map(nodeObject), pods: [] });
  const usedMillicores = new Map(NAMES.map((name) => [name, name === "n2" || name === "n3" ? 100 : 0]));
  let promised = 0;
  for (let round = 0; round < 200; round++) {
    const [millicores, disk] = [pick([50, 100, 400, 900]), pick(["ssd", "hdd", null])];
    const term = { matchExpressions: [{ key: "disk", operator: "In", values: [disk] }] };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    const pod = asked({
      workload: pick(["p", "q", "r"]),
      cpu: `${millicores}m`,
      spec: disk === null ? {} : { affinity: { nodeAffinity } },
    });
    const answer = promise(pod);
    if (answer === null) continue;
    promised++;
    const to = answer.annotations["isochrone.dev/planned-node"]!;
    usedMillicores.set(to, usedMillicores.get(to)! + millicores);
    const named = (one: KubernetesObject) => ({ ...one, metadata: { ...one.metadata, name: `x-${round}` } });
    const allowed = (one: KubernetesObject): string[] =>
      NAMES.filter((name) => alone.verdict(named(one), name) === null);
    const narrowed = allowed({ ...pod, spec: { ...pod.spec, affinity: answer.affinity } });
    expect(narrowed.toSorted()).toEqual(answer.annotations[AMONG]!.split(",").toSorted());
    expect(allowed(pod)).toEqual(expect.arrayContaining(narrowed));
    if (random.next() < 0.5) {
      const pod2 = shown(pod, `x-${round}`, answer);
      around.model.assume(pod2, promises.redeem(pod2)!.node);
    }
  }
  expect(promised).toBeGreaterThan(20);
  expect(promised).toBeLessThan(200);
  for (const [name, millicores] of usedMillicores) expect([name, millicores <= 4_000]).toEqual([name, true]);
});
