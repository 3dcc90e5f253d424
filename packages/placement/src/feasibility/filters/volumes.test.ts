import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import { aModel, aNode, aPod, rejections, ZONE } from "../testing/objects.ts";

const NODES = [aNode("a", "z1"), aNode("b", "z2"), aNode("c")];

interface VolumeFields {
  readonly labels?: Record<string, string>;
  readonly spec?: object;
}

const volume = (name: string, { labels = {}, spec = { nfs: {} } }: VolumeFields = {}): ApiObject => ({
  metadata: { name, labels } as { name: string },
  spec,
});
const claim = (
  name: string,
  fields: { metadata?: object; spec?: object; status?: object } = {},
): ApiObject => ({
  metadata: {
    name,
    namespace: "default",
    annotations: { "pv.kubernetes.io/bind-completed": "yes" },
    ...fields.metadata,
  } as { name: string; namespace: string },
  spec: { volumeName: `pv-${name}`, ...fields.spec },
  status: { phase: "Bound", ...fields.status },
});
const using = (name: string, claimName: string, node?: string): ApiObject =>
  aPod(name, {
    ...(node === undefined ? {} : { node }),
    spec: { volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] },
  });
const onlyOn = (key: string, value: string): object => ({
  nodeAffinity: {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [value] }] }] },
  },
});

describe("volumes that are bound", () => {
  const model = aModel(NODES, [], {
    persistentVolumes: [
      volume("pv-any"),
      volume("pv-local", { spec: { local: {}, ...onlyOn(ZONE, "z1") } }),
      volume("pv-zoned", { labels: { "failure-domain.beta.kubernetes.io/zone": "z2__z3" } }),
    ],
    persistentVolumeClaims: [claim("any"), claim("local"), claim("zoned")],
  });

  test.each([
    ["any", { a: "", b: "", c: "" }],
    ["local", { a: "", b: "VolumeBinding", c: "VolumeBinding" }],
    // A node without zone label may use any volume: single-zone clusters may omit the label.
    ["zoned", { a: "VolumeZone", b: "", c: "" }],
  ])("%s", (name, expected) => {
    expect(rejections(model, using("p", name))).toEqual(expected);
  });

  test("one pod at a time where the claim says so", () => {
    const exclusive = claim("one", { spec: { accessModes: ["ReadWriteOncePod"] } });
    const others = { persistentVolumes: [volume("pv-one")], persistentVolumeClaims: [exclusive] };
    const model = aModel(NODES, [using("first", "one", "a")], others);
    expect(new Set(Object.values(rejections(model, using("p", "one"))))).toEqual(
      new Set(["VolumeRestrictions"]),
    );
    model.remove("default/first");
    expect(rejections(model, using("p", "one"))).toEqual({ a: "", b: "", c: "" });
  });
});

describe("attach limits", () => {
  const csi = (handle: string): object => ({ csi: { driver: "disk.example.com", volumeHandle: handle } });
  const others = {
    persistentVolumes: ["1", "2", "3"].map((name) => volume(`pv-${name}`, { spec: csi(name) })),
    persistentVolumeClaims: ["1", "2", "3"].map((name) => claim(name)),
  };
  const csiNodes = [
    {
      metadata: { name: "a" },
      spec: { drivers: [{ name: "disk.example.com", allocatable: { count: 2 } }, { name: "other" }] },
    },
  ];

  test("a volume that is there already costs nothing", () => {
    const model = aModel(NODES, [using("x", "1", "a"), using("y", "2", "a")], { ...others, csiNodes });
    expect(rejections(model, using("p", "3"))).toEqual({ a: "NodeVolumeLimits", b: "", c: "" });
    expect(rejections(model, using("p", "2"))).toEqual({ a: "", b: "", c: "" });
  });

  test("volumes of nominated pods count", () => {
    const model = aModel(NODES, [using("x", "1", "a")], { ...others, csiNodes });
    model.nominate(using("y", "2"), "a");
    expect(rejections(model, using("p", "3"))).toEqual({ a: "NodeVolumeLimits", b: "", c: "" });
  });

  test("a volume that is attached counts even without a pod, and twice when it is the pod's own", () => {
    const attachment = (volumeName: string): ApiObject => ({
      metadata: { name: `attached-${volumeName}` },
      spec: { nodeName: "a", attacher: "disk.example.com", source: { persistentVolumeName: volumeName } },
    });
    const model = (...names: string[]): ReturnType<typeof aModel> =>
      aModel(NODES, [using("x", "1", "a")], {
        ...others,
        csiNodes,
        volumeAttachments: names.map(attachment),
      });
    expect(rejections(model("pv-1"), using("p", "3"))).toMatchObject({ a: "" });
    expect(rejections(model("pv-1", "pv-2"), using("p", "3"))).toMatchObject({ a: "NodeVolumeLimits" });
    expect(rejections(model("pv-3", "pv-gone"), using("p", "3"))).toMatchObject({ a: "NodeVolumeLimits" });
  });

  test("without knowing them nothing is said", () => {
    expect(aModel(NODES, [], others).unsupported(using("p", "1"))).toEqual([
      "how many volumes of a CSI driver a node attaches is not known (claim 1)",
    ]);
  });
});

describe("what is not supported", () => {
  const model = aModel(NODES, [], {
    persistentVolumes: [volume("pv-ebs", { spec: { awsElasticBlockStore: {} } })],
    persistentVolumeClaims: [
      claim("unbound", { spec: { volumeName: "" } }),
      claim("binding", { metadata: { annotations: {} } }),
      claim("lost", { status: { phase: "Lost" } }),
      claim("going", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      claim("dangling"),
      claim("ebs"),
    ],
  });

  test.each([
    ["none", "its PersistentVolumeClaim none is not known"],
    ["unbound", "its PersistentVolumeClaim unbound is not bound"],
    ["binding", "its PersistentVolumeClaim binding is not bound"],
    ["lost", "its PersistentVolumeClaim lost has lost its volume"],
    ["going", "its PersistentVolumeClaim going is being deleted"],
    ["dangling", "PersistentVolume pv-dangling of its claim dangling is not known"],
    ["ebs", "PersistentVolume pv-ebs of its claim ebs is of an in-tree type"],
  ])("claim %s", (name, reason) => {
    const pod = using("p", name);
    expect(model.unsupported(pod)).toEqual([reason]);
    expect(model.verdict(pod, "a")).toEqual({ plugin: "Unsupported", message: reason });
  });

  test.each([
    [{ resourceClaims: [{ name: "gpu" }] }, "it has resourceClaims (dynamic resource allocation)"],
    [{ schedulingGroup: { podGroupName: "g" } }, "it belongs to a scheduling group (gang scheduling)"],
    [{ workloadRef: { name: "w", podGroup: "g" } }, "it belongs to a Workload (gang scheduling)"],
    [{ volumes: [{ name: "v", ephemeral: {} }] }, "its volume v is of type ephemeral"],
    [{ volumes: [{ name: "v", rbd: {} }] }, "its volume v is of type rbd"],
    [
      { tolerations: [{ key: "k", operator: "Gt", value: "1" }] },
      "its tolerations compare numbers (operators Lt and Gt)",
    ],
    [
      {
        topologySpreadConstraints: [
          {
            topologyKey: ZONE,
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchExpressions: [{ key: "k", operator: "Like" }] },
          },
        ],
      },
      "its topologySpreadConstraints has a selector that is not valid",
    ],
  ])("%j", (spec, reason) => {
    expect(model.unsupported(aPod("p", { spec }))).toEqual([reason]);
  });

  test("plain volumes are fine", () => {
    const volumes = [
      { name: "a", configMap: {} },
      { name: "b", emptyDir: {} },
      { name: "c", projected: {} },
    ];
    expect(model.unsupported(aPod("p", { spec: { volumes, resourceClaims: [] } }))).toEqual([]);
  });
});
