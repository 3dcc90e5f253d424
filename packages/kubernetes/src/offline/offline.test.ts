import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { admittedPod, completedObject, jsonDocuments, listedObjects, quantityFault } from "./index.ts";

const pod = (spec: object, labels: object = {}) => ({ kind: "Pod", metadata: { name: "p", labels }, spec });
const specOf = (spec: object, labels?: object) =>
  completedObject("Pod", pod(spec, labels))["spec"] as Record<string, unknown>;

describe("a manifest is completed as the API server does it", () => {
  it("requests are limits, for each resource and container, where they aren't named", () => {
    const { containers, initContainers } = specOf({
      containers: [
        { resources: { limits: { cpu: "8", memory: "64Gi" } } },
        { resources: { limits: { cpu: "8", memory: "1Gi" }, requests: { cpu: "1" } } },
        { resources: { requests: { cpu: "2" } } },
        {},
      ],
      initContainers: [{ resources: { limits: { cpu: 3 } } }],
    });
    expect(containers).toEqual([
      { resources: { limits: { cpu: "8", memory: "64Gi" }, requests: { cpu: "8", memory: "64Gi" } } },
      { resources: { limits: { cpu: "8", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } } },
      { resources: { requests: { cpu: "2" } } },
      {},
    ]);
    expect(initContainers).toEqual([{ resources: { limits: { cpu: 3 }, requests: { cpu: 3 } } }]);
  });

  it("limits of the pod are its requests of what no container requests", () => {
    const { resources } = specOf({
      resources: { limits: { cpu: "4", memory: "8Gi" }, requests: {} },
      containers: [{ resources: { requests: { cpu: "1" } } }],
    });
    expect(resources).toEqual({ limits: { cpu: "4", memory: "8Gi" }, requests: { memory: "8Gi" } });
  });

  it("ports on the host's network are host ports, of TCP unless they say otherwise", () => {
    const containers = [
      { ports: [{ containerPort: 80 }, { containerPort: 53, hostPort: 54, protocol: "UDP" }] },
    ];
    expect(specOf({ hostNetwork: true, containers })["containers"]).toEqual([
      {
        ports: [
          { containerPort: 80, hostPort: 80, protocol: "TCP" },
          { containerPort: 53, hostPort: 54, protocol: "UDP" },
        ],
      },
    ]);
    expect(specOf({ containers })["containers"]).toMatchObject([{ ports: [{ protocol: "TCP" }, {}] }]);
    expect(JSON.stringify(specOf({ containers }))).not.toContain('"hostPort":80');
  });

  it("label keys of affinity select by the pod's own values, without those it doesn't have", () => {
    const term = {
      topologyKey: "zone",
      labelSelector: { matchLabels: { app: "web" } },
      matchLabelKeys: ["pod-template-hash", "absent"],
      mismatchLabelKeys: ["tenant"],
    };
    const matchExpressions = [
      { key: "pod-template-hash", operator: "In", values: ["5f"] },
      { key: "tenant", operator: "NotIn", values: ["t1"] },
    ];
    const completed = { ...term, labelSelector: { ...term.labelSelector, matchExpressions } };
    const { affinity } = specOf(
      {
        affinity: {
          nodeAffinity: {},
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
          },
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
        },
      },
      { "pod-template-hash": "5f", tenant: "t1" },
    );
    expect(affinity).toEqual({
      nodeAffinity: {},
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: completed }],
      },
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [completed] },
    });
  });

  it("tolerates what every pod tolerates for a while, once", () => {
    const keys = (tolerations?: object[]): unknown =>
      (specOf({ tolerations })["tolerations"] as { key?: string }[]).map(({ key }) => key);
    const [notReady, unreachable] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    expect(keys()).toEqual([notReady, unreachable]);
    expect(keys([{ key: unreachable, operator: "Exists" }])).toEqual([unreachable, notReady]);
    expect(keys([{ operator: "Exists" }])).toEqual([undefined]);
  });

  it("templates, nodes and namespaces", () => {
    const limits = { cpu: "1" };
    const template = { spec: { containers: [{ resources: { limits } }] } };
    const requested = { spec: { containers: [{ resources: { limits, requests: limits } }] } };
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"])
      expect(completedObject(kind, { spec: { template } })).toMatchObject({ spec: { template: requested } });
    expect(completedObject("CronJob", { spec: { jobTemplate: { spec: { template } } } })).toMatchObject({
      spec: { jobTemplate: { spec: { template: requested } } },
    });
    expect(completedObject("Node", { status: { capacity: limits } })["status"]).toEqual({
      capacity: limits,
      allocatable: limits,
    });
    expect(completedObject("Namespace", { metadata: { name: "shop" } })["metadata"]).toEqual({
      name: "shop",
      labels: { "kubernetes.io/metadata.name": "shop" },
    });
  });

  test("whatever the fields hold, it doesn't fail, and a completed object stays equal", () => {
    const kind = fc.constantFrom("Pod", "Deployment", "CronJob", "Node", "Namespace", "Service");
    const field = fc.constantFrom(
      "spec",
      "template",
      "containers",
      "resources",
      "limits",
      "requests",
      "affinity",
      "podAffinity",
      "ports",
      "requiredDuringSchedulingIgnoredDuringExecution",
      "labelSelector",
      "matchLabelKeys",
      "hostNetwork",
      "tolerations",
      "metadata",
      "labels",
      "status",
      "capacity",
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6, depthSize: "small" },
        fc.constantFrom("8", "x", 1, null, true),
        fc.dictionary(field, tie("value"), { noNullPrototype: true }),
        fc.array(tie("value"), { maxLength: 2 }),
      ),
    }));
    fc.assert(
      fc.property(kind, fc.dictionary(field, value, { noNullPrototype: true }), (name, json) => {
        const completed = completedObject(name, json);
        expect(completedObject(name, completed)).toEqual(completed);
        quantityFault(name, json);
      }),
    );
  });
});

describe("a new pod is changed by other objects as the API server's plugins do it", () => {
  const beside = (kind: string, name: string, json: object, namespace = "shop") => ({
    kind,
    name,
    namespace,
    json: { ...json },
  });
  const admitted = (spec: object, ...objects: ReturnType<typeof beside>[]): unknown =>
    admittedPod(pod(spec), "shop", objects)["spec"];

  it("LimitRange: defaults of its namespace, for what a container doesn't name", () => {
    const limits = [
      { type: "Pod", max: { cpu: "9" } },
      { type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" }, max: { memory: "4Gi" } },
    ];
    const ranges = [
      beside("LimitRange", "l", { spec: { limits } }),
      beside(
        "LimitRange",
        "other",
        { spec: { limits: [{ type: "Container", default: { gpu: 1 } }] } },
        "else",
      ),
    ];
    const containers = [{ resources: { requests: { cpu: "500m" } } }, {}];
    expect(admitted({ containers }, ...ranges)).toEqual({
      containers: [
        { resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "500m", memory: "4Gi" } } },
        { resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "4Gi" } } },
      ],
    });
    const stored = { ...pod({ containers }), metadata: { name: "p", uid: "u" } };
    expect(admittedPod(stored, "shop", ranges)).toBe(stored);
  });

  it("RuntimeClass: overhead, nodes and tolerations", () => {
    const runtime = beside("RuntimeClass", "kata", {
      overhead: { podFixed: { cpu: "250m" } },
      scheduling: { nodeSelector: { kata: "yes" }, tolerations: [{ key: "kata" }] },
    });
    expect(
      admitted({ runtimeClassName: "kata", nodeSelector: { zone: "a" }, tolerations: [{}] }, runtime),
    ).toEqual({
      runtimeClassName: "kata",
      overhead: { cpu: "250m" },
      nodeSelector: {
        zone: "a",
        kata: "yes",
      },
      tolerations: [{}, { key: "kata" }],
    });
    expect(admitted({}, runtime)).toEqual({});
  });

  it("PriorityClass: the one named, a system's, or the default", () => {
    const classes = [
      beside("PriorityClass", "high", { value: 7 }),
      beside("PriorityClass", "usual", { value: 3, globalDefault: true }),
    ];
    const priorityOf = (spec: object): unknown =>
      (admitted(spec, ...classes) as { priority?: unknown }).priority;
    expect(priorityOf({ priorityClassName: "high" })).toBe(7);
    expect(priorityOf({ priorityClassName: "system-node-critical" })).toBe(2_000_001_000);
    expect(priorityOf({})).toBe(3);
    expect(priorityOf({ priority: 5 })).toBe(5);
  });
});

test.each([
  [
    "Pod",
    { containers: [{}, { resources: { requests: { cpu: "8 cores" } } }] },
    "containers.1.resources.requests.cpu",
    "8 cores",
  ],
  [
    "Pod",
    { initContainers: [{ resources: { limits: { memory: "64 Gi" } } }] },
    "initContainers.0.resources.limits.memory",
    "64 Gi",
  ],
  ["Pod", { resources: { requests: { cpu: -1 } } }, "resources.requests.cpu", -1],
  ["Pod", { overhead: { memory: "1GB" } }, "overhead.memory", "1GB"],
  ["Pod", { volumes: [{ emptyDir: { sizeLimit: true } }] }, "volumes.0.emptyDir.sizeLimit", true],
  ["PersistentVolume", { capacity: { storage: "" } }, "capacity.storage", ""],
  ["PersistentVolumeClaim", { resources: { requests: { storage: {} } } }, "resources.requests.storage", {}],
])("a quantity of %s that can't be read is found: %j", (kind, spec, path, value) => {
  const fault = quantityFault(kind, { spec });
  expect([fault?.path.join("."), fault?.value]).toEqual([`spec.${path}`, value]);
  expect(fault?.rule).toBe("must be a quantity of 0 or more, such as 500m or 64Gi");
});

test.each(["0", 1, 0.5, "1e3", "1.5Gi", "100n", " 2 ", "+3"])("%j is a quantity", (cpu) => {
  const template = { spec: { containers: [{ resources: { requests: { cpu } } }] } };
  expect(quantityFault("Deployment", { spec: { template } })).toBeNull();
});

describe("documents of a text", () => {
  test("any JSON documents that follow each other are told apart, with their lines", () => {
    const json = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    const gap = fc.constantFrom("", "\n", "\n\n  ");
    fc.assert(
      fc.property(
        fc.array(json, { minLength: 1, maxLength: 4 }),
        gap,
        fc.nat(2),
        (values, between, indent) => {
          const text = values.map((value) => JSON.stringify(value, null, indent)).join(between);
          const documents = jsonDocuments(text) ?? [];
          expect(documents.map((each): unknown => JSON.parse(each.text))).toEqual(
            values.map((value): unknown => JSON.parse(JSON.stringify(value))),
          );
          const lines = text.split("\n");
          for (const { text: own, linesBefore } of documents)
            expect(lines[linesBefore]).toContain(own.split("\n")[0]);
        },
      ),
    );
  });

  test.each(["", "a: 1", "{} x", '{"a": 1', "{}]", '"text"'])("%j is no such text", (text) => {
    expect(jsonDocuments(text)).toBeNull();
  });

  test("items of a typed list get its kind", () => {
    const items = [{ metadata: { name: "a" } }];
    expect(listedObjects({ apiVersion: "v1", kind: "PodList", items })).toEqual([
      { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
    ]);
    expect(listedObjects({ kind: "List", items: [{ kind: "Node" }] })).toEqual([{ kind: "Node" }]);
    expect(listedObjects({ kind: "Node" })).toEqual([{ kind: "Node" }]);
    expect([listedObjects([]), listedObjects({})]).toEqual([null, null]);
  });
});
