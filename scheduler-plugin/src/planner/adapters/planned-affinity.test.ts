import { KINDS, withoutPlannedNodes, narrowedAffinity } from "@isochrone/kubernetes";
import type { KubernetesObject, LandingNode } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";

const named = (name: string): LandingNode => ({ name, hostname: `host-${name}` });
const podWith = (affinity?: object): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { namespace: "shop", name: "a" },
  spec: { containers: [{ name: "main", image: "none" }], ...(affinity === undefined ? {} : { affinity }) },
});
const required = (nodeSelectorTerms: readonly object[]): object => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
});
const field = (...values: string[]): object => ({ key: "metadata.name", operator: "In", values });
const label = (key: string, ...values: string[]): object => ({ key, operator: "In", values });

describe("a narrowed affinity", () => {
  test("of a pod without terms has one term for each node, and prefers them in their order", () => {
    expect(narrowedAffinity(podWith(), [named("n1"), named("n2")])).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [field("n1")] }, { matchFields: [field("n2")] }],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, preference: { matchFields: [field("n1")] } },
          { weight: 10, preference: { matchFields: [field("n2")] } },
        ],
      },
    });
  });

  test("keeps all else that the pod says", () => {
    const own = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [label("disk", "ssd")] }, { matchFields: [field("n9")] }],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
      },
    };
    const among = label("kubernetes.io/hostname", "host-n1", "host-n2");
    expect(narrowedAffinity(podWith(own), [named("n1"), named("n2")])).toEqual({
      podAntiAffinity: own.podAntiAffinity,
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [label("disk", "ssd"), among] },
            { matchFields: [field("n9")], matchExpressions: [among] },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: {} },
          { weight: 100, preference: { matchFields: [field("n1")] } },
          { weight: 10, preference: { matchFields: [field("n2")] } },
        ],
      },
    });
  });

  test.each([
    ["no terms at all, which allow no node", required([]), [named("n1")]],
    ["an empty term, which the API server keeps as it is", required([{}]), [named("n1")]],
    [
      "terms, and a node without a hostname",
      required([{ matchExpressions: [label("disk", "ssd")] }]),
      [named("n1"), { name: "n2", hostname: null }],
    ],
    [
      "terms, and two nodes of one hostname",
      required([{ matchExpressions: [label("disk", "ssd")] }]),
      [named("n1"), { name: "n2", hostname: "host-n1" }],
    ],
    ["no node to land on", undefined, []],
  ])("is not made for a pod with %s", (_, affinity, nodes) => {
    expect(narrowedAffinity(podWith(affinity), nodes)).toBeNull();
  });

  test.each([
    ["nothing", undefined],
    [
      "terms and preferences",
      {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [label("kubernetes.io/hostname", "a", "b")] },
              { matchFields: [field("n1")], matchExpressions: [] },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
        },
        podAffinity: {},
      },
    ],
    [
      "one term for each of as many nodes",
      required([{ matchFields: [field("n1")] }, { matchFields: [field("n2")] }]),
    ],
  ])("is no requirement of the pod's next life: of a pod with %s its own stays", (_, own) => {
    const nodes = [named("n1"), named("n2")];
    const pod = podWith(own);
    const annotations = { "isochrone.dev/planned-among": "n1,n2" };
    const landed = { ...podWith(narrowedAffinity(pod, nodes)!), metadata: { ...pod.metadata, annotations } };
    const before = withoutPlannedNodes(landed);
    const model = SchedulingModel.of({
      pods: [],
      nodes: ["n1", "n2", "n3"].map((name) => ({
        ...KINDS.node,
        metadata: { name, labels: { "kubernetes.io/hostname": name === "n3" ? "a" : name } },
        status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110" } },
      })),
    });
    for (const name of ["n1", "n2", "n3"])
      expect([name, model.verdict(before, name)]).toEqual([name, model.verdict(pod, name)]);
    const { spec } = before as { spec: { affinity?: { nodeAffinity?: Record<string, unknown> } } };
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const { nodeAffinity } = (own ?? {}) as { nodeAffinity?: Record<string, unknown> };
    expect(spec.affinity?.nodeAffinity?.[preferred]).toEqual(nodeAffinity?.[preferred]);
    expect(withoutPlannedNodes(pod)).toBe(pod);
  });

  test("is taken off whole where it prefers the first node alone", () => {
    const annotations = { "isochrone.dev/planned-among": "n1,n2" };
    const preferred = [{ weight: 100, preference: { matchFields: [field("n1")] } }];
    const affinity = {
      nodeAffinity: {
        ...(narrowedAffinity(podWith(), [named("n1"), named("n2")]) as { nodeAffinity: object }).nodeAffinity,
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    };
    const pod = podWith(affinity);
    expect(withoutPlannedNodes({ ...pod, metadata: { ...pod.metadata, annotations } }).spec).toMatchObject({
      affinity: { nodeAffinity: {} },
    });
  });

  test("allows the nodes that it names and the pod allows, and no other", () => {
    const random = seededRandom(23);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
    const model = SchedulingModel.of({
      pods: [],
      nodes: names.map((name, index) => ({
        ...KINDS.node,
        metadata: {
          name,
          labels: {
            "kubernetes.io/hostname": `host-${name}`,
            zone: `z${index % 3}`,
            disk: index % 2 === 0 ? "ssd" : "hdd",
          },
        },
        status: {
          allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
          conditions: [{ type: "Ready", status: "True" }],
        },
      })),
    });
    const allows = (pod: KubernetesObject, node: string): boolean => model.verdict(pod, node) === null;
    const term = (): object => {
      const expressions = [label("zone", pick(["z0", "z1", "z2"])), label("disk", pick(["ssd", "hdd"]))];
      const matchExpressions = expressions.slice(0, Math.floor(random.next() * 3));
      const hasField = matchExpressions.length === 0 || random.next() < 0.2;
      return { matchExpressions, ...(hasField ? { matchFields: [field(pick(names))] } : {}) };
    };
    let narrowed = 0;
    for (let round = 0; round < 500; round++) {
      const terms = Array.from({ length: Math.floor(random.next() * 4) }, term);
      const own = podWith(terms.length === 0 ? undefined : required(terms));
      const nodes = [...new Set(Array.from({ length: 3 }, () => pick(names)))].map(named);
      const affinity = narrowedAffinity(own, nodes);
      if (affinity === null) continue;
      narrowed++;
      for (const name of names) {
        const wanted = nodes.some((node) => node.name === name) && allows(own, name);
        expect([name, allows(podWith(affinity), name)]).toEqual([name, wanted]);
      }
    }
    expect(narrowed).toBeGreaterThan(400);
  });
});
