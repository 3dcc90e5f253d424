import { describe, expect, test } from "vitest";
import type { ApiObject } from "./objects/json.ts";
import { MOST_ENTRIES } from "./objects/pod-limits.ts";
import { aModel, aNode, aPod, HOST, near, required, spreadOver, type Fields } from "./testing/objects.ts";

const NODES = Array.from({ length: 1_000 }, (_, node) => aNode(`n${node}`, `z${node % 3}`));
const SMALL = NODES.slice(0, 20);

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const term = (index: number): Fields => near(index % 2 === 0 ? HOST : `k${index}`, { app: `a${index}` });
const preferring = (kind: string, preferred: readonly unknown[]): Fields => ({
  affinity: { [kind]: { preferredDuringSchedulingIgnoredDuringExecution: preferred } },
});
const expression = (index: number): Fields => ({ key: `k${index}`, operator: "DoesNotExist" });
const requiredNodes = (nodeSelectorTerms: readonly unknown[]): Fields => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});

const LISTS: readonly (readonly [string, keyof typeof MOST_ENTRIES, (count: number) => Fields])[] = [
  [
    "hard constraints",
    "topologySpreadConstraints",
    (count) => ({
      topologySpreadConstraints: many(count, (index) =>
        spreadOver(index === 0 ? HOST : `k${index}`, 1, { app: `a${index}` }),
      ),
    }),
  ],
  [
    "soft constraints",
    "topologySpreadConstraints",
    (count) => ({
      topologySpreadConstraints: many(count, (index) =>
        spreadOver(`k${index}`, 1, { app: "a" }, { whenUnsatisfiable: "ScheduleAnyway" }),
      ),
    }),
  ],
  ["affinity", "podAffinity", (count) => required("podAffinity", ...many(count, term))],
  ["anti-affinity", "podAntiAffinity", (count) => required("podAntiAffinity", ...many(count, term))],
  [
    "preferred anti-affinity",
    "podAntiAffinity",
    (count) =>
      preferring(
        "podAntiAffinity",
        many(count, (index) => ({ weight: 1, podAffinityTerm: term(index) })),
      ),
  ],
  [
    "node terms",
    "nodeAffinity",
    (count) => requiredNodes(many(count, (i) => ({ matchExpressions: [expression(i)] }))),
  ],
  [
    "node preferences",
    "nodeAffinity",
    (count) =>
      preferring(
        "nodeAffinity",
        many(count, (i) => ({ weight: 1, preference: { matchExpressions: [expression(i)] } })),
      ),
  ],
  [
    "tolerations",
    "tolerations",
    (count) => ({ tolerations: many(count, (i) => ({ key: `k${i}`, operator: "Exists" })) }),
  ],
  ["volumes", "volumes", (count) => ({ volumes: many(count, (i) => ({ name: `v${i}`, emptyDir: {} })) })],
  ["containers", "containers", (count) => ({ containers: many(count, (i) => ({ name: `c${i}` })) })],
  [
    "init containers",
    "initContainers",
    (count) => ({ initContainers: many(count, (i) => ({ name: `c${i}` })) }),
  ],
  [
    "host ports",
    "ports",
    (count) => ({
      containers: many(2, (c) => ({
        name: `c${c}`,
        ports: many(count / 2, (i) => ({ hostPort: 1 + c * count + i })),
      })),
    }),
  ],
];

const LARGE: readonly (readonly [string, Fields])[] = [
  ["expressions of a node term", requiredNodes([{ matchExpressions: many(4_000, expression) }])],
  [
    "labels of a selector",
    required("podAntiAffinity", near(HOST, Object.fromEntries(many(4_000, (i) => [`k${i}`, "v"])))),
  ],
  [
    "namespaces of a term",
    required("podAffinity", near(HOST, { a: "b" }, { namespaces: many(20_000, (i) => `n${i}`) })),
  ],
  [
    "values",
    requiredNodes([{ matchExpressions: [{ key: "a", operator: "NotIn", values: many(20_000, String) }] }]),
  ],
  ["a node selector", { nodeSelector: Object.fromEntries(many(20_000, (i) => [`k${i}`, "v"])) }],
  ["long names", { tolerations: [{ key: "k".repeat(400_000), operator: "Exists" }] }],
  [
    "keys of a constraint",
    {
      topologySpreadConstraints: [spreadOver(HOST, 1, {}, { matchLabelKeys: many(20_000, (i) => `k${i}`) })],
    },
  ],
];

describe("a pod whose author writes long lists", () => {
  test.each(LISTS)(
    "%s: at the bound it is judged, beyond it is not planned, and why is said",
    (_, name, spec) => {
      const most = MOST_ENTRIES[name];
      const model = aModel(SMALL);
      expect(model.unsupported(aPod("p", { spec: spec(most) }))).toEqual([]);
      const reason = `its ${name} must have at most ${most} entries, got ${100 * most}`;
      const pod = aPod("p", { spec: spec(100 * most) });
      expect(model.unsupported(pod)).toContainEqual(reason);
      expect(model.verdict(pod, "n0")).toMatchObject({ plugin: "Unsupported" });
      expect(model.verdict(pod, "n0")?.message).toContain(reason);
    },
  );

  test.each(LARGE)("%s: too large together", (_, spec) => {
    const model = aModel(SMALL);
    expect(model.unsupported(aPod("p", { spec }))).toEqual([
      "its scheduling rules must have at most 2000 parts and 65536 characters, got more",
    ]);
  });

  test.each(LISTS)(
    "%s: forty pods of 100 times the bound cost a cluster of 1,000 nodes little memory",
    (_, name, spec) => {
      const model = aModel(NODES);
      const most = MOST_ENTRIES[name];
      const before = process.memoryUsage().arrayBuffers;
      let kept = 0;
      for (let index = 0; index < 40; index++) {
        const labels = { app: `p${index}` };
        const pod = aPod(`p${index}`, { labels, spec: spec(100 * most) });
        kept += model.template(pod).words;
        model.place(pod, `n${index}`);
        expect(
          model.template(aPod("other", { labels })).openNodes(model.schedulingPod(aPod("x")), false),
        ).toHaveLength(1_000);
      }
      expect(kept).toBeLessThan(40 * 16 * 5_000);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100e6);
    },
  );
});

test("rules at their bounds of more kinds than memory has room for say the same as those of a fresh model", () => {
  const constraints = (kind: number): ApiObject =>
    aPod(`p${kind}`, {
      labels: { app: `a${kind % 7}` },
      spec: {
        topologySpreadConstraints: [spreadOver(HOST, 1, { app: `a${kind % 7}` })],
        ...required("podAntiAffinity", ...many(16, (index) => near(HOST, { app: `b${kind}-${index}` }))),
      },
    });
  const model = aModel(
    NODES,
    many(7, (index) => aPod(`o${index}`, { labels: { app: `a${index}` }, node: `n${index}` })),
  );
  const kinds = many(600, constraints);
  const answers = kinds.map((pod) => ["n0", "n3"].map((node) => model.verdict(pod, node)?.plugin ?? ""));
  expect(answers).toEqual(
    kinds.map((_, kind) =>
      [kind % 7 === 0, kind % 7 === 3].map((isSkewed) => (isSkewed ? "PodTopologySpread" : "")),
    ),
  );
});

test("topology spread constraints take bounded memory, however many of however many kinds there are", () => {
  const model = aModel(
    NODES,
    many(200, (at) => aPod(`o${at}`, { labels: { app: `a${at}` }, node: `n${at}` })),
  );
  const before = process.memoryUsage().arrayBuffers;
  const spread = (kind: number, count: number): ApiObject =>
    aPod(`p${kind}-${count}`, {
      spec: {
        topologySpreadConstraints: many(count, (at) =>
          spreadOver(HOST, 1, { app: `a${kind}`, [`k${at}`]: "v" }),
        ),
      },
    });
  let grown = 0;
  for (let kind = 0; kind < 500; kind++) {
    expect(model.verdict(spread(kind, 16), "n0")).toBeNull();
    grown = Math.max(grown, process.memoryUsage().arrayBuffers - before);
  }
  // The most that fits into the API server's 1.5 MB.
  for (let kind = 0; kind < 20; kind++) {
    expect(model.verdict(spread(kind, 5_000), "n0")?.plugin).toBe("Unsupported");
    grown = Math.max(grown, process.memoryUsage().arrayBuffers - before);
  }
  // 30 million four-byte words, and as much uncollected garbage.
  expect(grown).toBeLessThan(2 * 4 * 30e6);
});
