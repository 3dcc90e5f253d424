import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { beforeAll, describe, expect, test } from "vitest";
import { DESTINATION_RULE_CRD } from "../../harness/istio.ts";
import { annotate, type AdmissionTestbed } from "./testbed.ts";

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const SLICE = `${SLICES}/db-1`;
const RULES = "/apis/networking.istio.io/v1/namespaces/default/destinationrules";
const OWN = { "app.kubernetes.io/managed-by": "isochrone" };

const slice = (name: string): KubernetesObject => ({
  ...KINDS.endpointSlice,
  metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": "db" } },
  addressType: "IPv4",
  ports: [{ name: "", port: 80, protocol: "TCP" }],
  endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true }, zone: "west" }],
});

const rule = (name: string, labels: Record<string, string>): KubernetesObject => ({
  ...KINDS.destinationRule,
  metadata: { name, namespace: "default", labels },
  spec: { host: "db" },
});

export function describeDispatch(testbed: AdmissionTestbed): void {
  describe("of what spreads requests", () => {
    beforeAll(async () => {
      await testbed.cluster.create(DESTINATION_RULE_CRD);
      await testbed.cluster.create([slice("db-1"), rule("theirs", {}), rule("isochrone-theirs", {})]);
    });

    const hint = { op: "add", path: "/endpoints/0/hints", value: { forZones: [{ name: "east" }] } };

    test("hints and our annotation of an EndpointSlice may change", async () => {
      const plan = annotate({ "isochrone.dev/zone-weights": "{}" });
      expect(await testbed.verdict("scheduler-plugin", "PATCH", SLICE, plan)).toBe("ok");
      expect(await testbed.verdict("scheduler-plugin", "PATCH", SLICE, [hint])).toBe("ok");
    });

    test.each<[string, object]>([
      ["addresses", [{ op: "replace", path: "/endpoints/0/addresses/0", value: "10.0.0.66" }]],
      ["readiness", [{ op: "replace", path: "/endpoints/0/conditions/ready", value: false }]],
      ["zones", [{ op: "replace", path: "/endpoints/0/zone", value: "east" }]],
      ["targets", [{ op: "add", path: "/endpoints/0/targetRef", value: { kind: "Pod", name: "x" } }]],
      ["further endpoints", [{ op: "add", path: "/endpoints/-", value: { addresses: ["10.0.0.66"] } }]],
      ["ports", [{ op: "replace", path: "/ports/0/port", value: 81 }]],
      ["labels", { metadata: { labels: { "kubernetes.io/service-name": "other" } } }],
      ["other annotations", annotate({ "example.com/owner": "us" })],
    ])("its %s may not", async (_, patch) => {
      const denial = await testbed.denialOf("scheduler-plugin", ["PATCH", SLICE, patch]);
      expect(denial).toContain("only the hints of an EndpointSlice");
    });

    test("EndpointSlices are neither created nor deleted", async () => {
      const words = "neither creates nor deletes EndpointSlices";
      expect(await testbed.denialOf("scheduler-plugin", ["POST", SLICES, slice("db-2")])).toContain(words);
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", SLICE])).toContain(words);
    });

    test("a DestinationRule of ours is created, changed and deleted", async () => {
      const at = `${RULES}/isochrone-db`;
      expect(await testbed.verdict("scheduler-plugin", "POST", RULES, rule("isochrone-db", OWN))).toBe("ok");
      expect(await testbed.verdict("scheduler-plugin", "PATCH", at, { spec: { host: "db2" } })).toBe("ok");
      expect(await testbed.verdict("scheduler-plugin", "DELETE", at)).toBe("ok");
    });

    test("those of others are not touched, whatever their name, and none is taken over", async () => {
      const words = "only its own DestinationRules";
      for (const name of ["theirs", "isochrone-theirs"]) {
        const at = `${RULES}/${name}`;
        const change = { spec: { host: "evil" } };
        expect(await testbed.denialOf("scheduler-plugin", ["PATCH", at, change])).toContain(words);
        const takeover = { metadata: { labels: OWN } };
        expect(await testbed.denialOf("scheduler-plugin", ["PATCH", at, takeover])).toContain(words);
        expect(await testbed.denialOf("scheduler-plugin", ["DELETE", at])).toContain(words);
      }
      expect(await testbed.denialOf("scheduler-plugin", ["POST", RULES, rule("other", OWN)])).toContain(
        words,
      );
      const unlabelled = rule("isochrone-x", {});
      expect(await testbed.denialOf("scheduler-plugin", ["POST", RULES, unlabelled])).toContain(words);
    });
  });
}
