import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { MANIFEST_VALUES } from "../../harness/components/index.ts";
import type { AdmissionTestbed } from "./testbed.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

interface Entry {
  readonly failurePolicy?: string;
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly rules?: readonly object[];
  readonly clientConfig?: object;
}

const rule = (resources: string[], operations = ["CREATE"], apiGroups = [""]): object => ({
  apiGroups,
  apiVersions: ["v1"],
  operations,
  resources,
});

const service = (namespace: string, name: string): object => ({ service: { namespace, name, path: "/" } });

/** Has no backend; another test covers its responses. */
function registration(name: string, entry: Entry = {}): KubernetesObject {
  return {
    ...KINDS.mutatingWebhookConfiguration,
    metadata: { name },
    webhooks: [
      {
        name: "namespace.placement.isochrone.dev",
        admissionReviewVersions: ["v1"],
        clientConfig: { url: "https://127.0.0.1:1/" },
        namespaceSelector: { matchLabels: { nobody: "at-all" } },
        failurePolicy: "Ignore",
        sideEffects: "None",
        timeoutSeconds: 2,
        rules: [rule(["pods"])],
        ...entry,
      },
    ],
  };
}

export function describeWebhooks(testbed: AdmissionTestbed): void {
  describe("of webhooks", () => {
    const ours = registration("isochrone-placement");
    const at = `${MUTATING}/isochrone-placement`;

    test.each<[string, Entry, string]>([
      ["at a stranger's address", { clientConfig: { url: "https://example.com/" } }, "must be asked at"],
      ["at a stranger's Service", { clientConfig: service("tenant", "steal") }, "must be asked at"],
      ["at another Service of ours", { clientConfig: service(NAMESPACE, "steal") }, "must be asked at"],
      ["that fails closed", { failurePolicy: "Fail" }, "failurePolicy Ignore"],
      ["that keeps the API server waiting", { timeoutSeconds: 3 }, "timeoutSeconds of at most 2"],
      ["with side effects", { sideEffects: "NoneOnDryRun" }, "sideEffects None"],
      ["that sees Secrets", { rules: [rule(["pods"]), rule(["secrets"])] }, "creation of pods alone"],
      ["that sees pods change", { rules: [rule(["pods"], ["CREATE", "UPDATE"])] }, "creation of pods alone"],
      ["that sees everything", { rules: [rule(["*"], ["*"], ["*"])] }, "creation of pods alone"],
      ["that sees subresources", { rules: [rule(["pods", "pods/exec"])] }, "creation of pods alone"],
    ])("one %s is denied", async (_, entry, words) => {
      const odd = registration("isochrone-placement", entry);
      expect(await testbed.denialOf("scheduler-plugin", ["POST", MUTATING, odd])).toContain(words);
    });

    test("one that sees EndpointSlices written is registered, deleted ones or more of the group not", async () => {
      const slices = (resources: string[], operations: string[]): KubernetesObject =>
        registration("isochrone-placement", { rules: [rule(resources, operations, ["discovery.k8s.io"])] });
      const good = slices(["endpointslices"], ["CREATE", "UPDATE"]);
      expect(await testbed.verdict("scheduler-plugin", "POST", `${MUTATING}?dryRun=All`, good)).toBe("ok");
      for (const odd of [slices(["endpointslices"], ["*"]), slices(["*"], ["CREATE", "UPDATE"])])
        expect(await testbed.denialOf("scheduler-plugin", ["POST", MUTATING, odd])).toContain(
          "EndpointSlices",
        );
    });

    test("of another name, of another kind, or of another account none is registered", async () => {
      const only = "one webhook, isochrone-placement";
      expect(await testbed.denialOf("scheduler-plugin", ["POST", MUTATING, registration("other")])).toContain(
        only,
      );
      const validating = { ...registration("isochrone-placement"), kind: "ValidatingWebhookConfiguration" };
      expect(await testbed.denialOf("scheduler-plugin", ["POST", VALIDATING, validating])).toContain(only);
      for (const account of ["aggregator", "uninstall"] as const)
        expect(await testbed.denialOf(account, ["POST", MUTATING, ours])).toContain(only);
    });

    test("ours is registered and kept by the scheduler-plugin, and taken away by the uninstallation alone", async () => {
      const clientConfig = service(NAMESPACE, "isochrone-scheduler-plugin");
      const byService = registration("isochrone-placement", { clientConfig });
      expect(await testbed.verdict("scheduler-plugin", "POST", `${MUTATING}?dryRun=All`, byService)).toBe(
        "ok",
      );
      expect(await testbed.verdict("scheduler-plugin", "POST", MUTATING, ours)).toBe("ok");
      const label = { metadata: { labels: { a: "b" } } };
      expect(await testbed.verdict("scheduler-plugin", "PATCH", at, label)).toBe("ok");
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", at])).toContain("only its uninstallation");
      expect(await testbed.denialOf("aggregator", ["DELETE", at])).toContain("only its uninstallation");
      expect(await testbed.denialOf("uninstall", ["PATCH", at, label])).toContain("only its uninstallation");
      expect(await testbed.verdict("uninstall", "DELETE", at)).toBe("ok");
    });

    test("its certificates and the planner's Lease are the scheduler-plugin's", async () => {
      const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
      const secret = { metadata: { name: "isochrone-webhook" }, type: "Opaque" };
      const lease = { metadata: { name: "isochrone-planner" } };
      for (const account of ["aggregator", "uninstall"] as const)
        expect(await testbed.denialOf(account, ["POST", secrets, secret])).toContain("metadata.name");
      expect(await testbed.verdict("scheduler-plugin", "POST", secrets, secret)).toBe("ok");
      expect(
        await testbed.denialOf("scheduler-plugin", ["DELETE", `${secrets}/isochrone-webhook`]),
      ).toContain("metadata.name");
      expect(await testbed.verdict("uninstall", "DELETE", `${secrets}/isochrone-webhook`)).toBe("ok");
      expect(await testbed.denialOf("aggregator", ["POST", leases, lease])).toContain("metadata.name");
      expect(await testbed.verdict("uninstall", "POST", leases, lease)).toBe("ok");
      expect(await testbed.denialOf("uninstall", ["DELETE", `${leases}/isochrone-planner`])).toContain(
        "metadata.name",
      );
    });

    test("the uninstallation opens our gate of pods, and does nothing else to them", async () => {
      const gated = "/api/v1/namespaces/default/pods/gated-too";
      const left = { spec: { schedulingGates: [{ name: "example.com/other" }] } };
      expect(
        await testbed.denialOf("uninstall", ["PATCH", gated, { spec: { schedulingGates: null } }]),
      ).toContain("spec.schedulingGates");
      expect(await testbed.verdict("uninstall", "PATCH", gated, left)).toBe("ok");
      expect(
        await testbed.denialOf("uninstall", ["PATCH", gated, { metadata: { labels: { a: "b" } } }]),
      ).toContain("metadata.labels");
      expect(await testbed.denialOf("uninstall", ["DELETE", gated])).toContain("deletes no pods");
    });
  });
}
