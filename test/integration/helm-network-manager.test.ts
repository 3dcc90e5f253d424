import { loadSettings } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantsOf } from "../harness/components/index.ts";
import { chartFilesIn, Helm, helmSupport, only, podSpecOf, SECTIONS } from "../harness/helm/index.ts";
import { environmentOf, mountedBy, settingsIn, workloadOf } from "../harness/helm/workloads.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

describe.runIf(support.supported)("the chart's network manager", () => {
  let helm: Helm;

  beforeAll(async () => {
    helm = await Helm.open();
  });
  afterAll(() => helm?.close());

  test("runs when asked: on the node's network as root, with NET_ADMIN alone", async () => {
    expect(workloadOf(await helm.template(), "network-manager")).toBeNull();
    const kafka = { enabled: true, brokers: ["kafka:9093"], tls: { enabled: true, caSecret: "kafka-ca" } };
    const objects = await helm.template({
      networkManager: { enabled: true },
      kafka,
      monitoring: { monitors: true },
      settings: { flows: { mode: "guarantee", holdMs: "90s" } },
    });
    const workload = only(objects, "DaemonSet", "isochrone-network-manager");
    const spec = podSpecOf(workload)!;
    expect(spec).toMatchObject({ hostNetwork: true, automountServiceAccountToken: false });
    expect(spec.containers[0]!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] },
    });
    const file = settingsIn(objects, "network-manager");
    expect(file).toMatchObject({ flows: { mode: "guarantee", holdMs: "90s" }, bus: { sealRecords: true } });
    expect(() =>
      loadSettings(SECTIONS["network-manager"]!, { env: environmentOf(workload), file }),
    ).not.toThrow();
    expect(chartFilesIn(file).filter((path) => !mountedBy(workload).includes(path))).toEqual([]);
    expect(only(objects, "PodMonitor", "isochrone-network-manager")).toBeDefined();
    const grants = grantsOf(objects).filter(({ user }) => user.endsWith("-network-manager"));
    expect(grants.map(({ verb, on }) => `${verb} ${on}`).toSorted()).toEqual([
      "get /isochrone/v1/flow-plan",
      "get /isochrone/v1/record-key",
      "post /isochrone/v1/metrics",
    ]);
    // The aggregator can't distinguish node addresses from others.
    expect(JSON.stringify(only(objects, "NetworkPolicy", "isochrone-aggregator").spec)).toContain(
      '"ingress":[{"ports":[{"port":"http","protocol":"TCP"}]}]',
    );
    await expect(helm.template({ settings: { flows: { mode: "shapes" } } })).rejects.toThrow(
      /flows\/mode|mode/,
    );
  });

  test("has a neighbour that counts connections when asked, with the same rights in the kernel and fewer elsewhere", async () => {
    expect(workloadOf(await helm.template(), "connections")).toBeNull();
    const objects = await helm.template({ connections: { enabled: true }, monitoring: { monitors: true } });
    const workload = only(objects, "DaemonSet", "isochrone-connections");
    const spec = podSpecOf(workload)!;
    expect(spec).toMatchObject({ hostNetwork: true, automountServiceAccountToken: false });
    expect(spec.containers[0]).toMatchObject({
      image: expect.stringContaining("isochrone-collector:"),
      ports: [{ containerPort: 9103 }],
      securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } },
    });
    const file = settingsIn(objects, "connections");
    expect(file).toMatchObject({ collector: { mode: "connections", port: 9103 } });
    expect(() => loadSettings(SECTIONS.collector!, { env: environmentOf(workload), file })).not.toThrow();
    expect(chartFilesIn(file).filter((path) => !mountedBy(workload).includes(path))).toEqual([]);
    expect(only(objects, "PodMonitor", "isochrone-connections")).toBeDefined();
    const grants = grantsOf(objects).filter(({ user }) => user.endsWith("-connections"));
    expect(grants.map(({ verb, on }) => `${verb} ${on}`)).toEqual(["post /isochrone/v1/metrics"]);
  });

  test("takes its rules back before the chart goes, by a hook that may change its DaemonSet alone", async () => {
    const hook = "isochrone-release-flows";
    const withoutManagers = (await helm.template()).filter(({ metadata }) => metadata.name === hook);
    expect(withoutManagers.filter(({ kind }) => !kind.startsWith("ValidatingAdmission"))).toEqual([]);
    const objects = await helm.template({ networkManager: { enabled: true } });
    const job = only(objects, "Job", hook);
    expect(job.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-delete" });
    const [command, ...options] = podSpecOf(job)!.containers[0]!.args!;
    expect([command, options.at(-1)]).toEqual(["release-flows", "isochrone-network-manager"]);
    expect(only(objects, "DaemonSet", options.at(-1)!)).toBeDefined();
    expect(only(objects, "Role", hook)["rules"]).toEqual([
      {
        apiGroups: ["apps"],
        resources: ["daemonsets"],
        resourceNames: ["isochrone-network-manager"],
        verbs: ["get", "patch"],
      },
    ]);
    const weight = (kind: string): number =>
      Number(only(objects, kind, hook).metadata.annotations!["helm.sh/hook-weight"]);
    expect(weight("Role")).toBeLessThan(weight("Job"));
  });
});
