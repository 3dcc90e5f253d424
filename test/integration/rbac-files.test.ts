import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  grantsOf,
  manifest,
  MANIFEST_VALUES,
  POLICY_FILES,
  RULE_FILES,
  textOf,
} from "../harness/components/index.ts";

const FILES = join(import.meta.dirname, "../../helm/isochrone/files");
const ACCOUNTS = ["probe", "collector", "aggregator", "scheduler-plugin", "uninstall"].map(
  (name) => `isochrone-${name}`,
);

describe("the chart's rules", () => {
  const objects = RULE_FILES.flatMap((name) => manifest("rbac", name));

  test("grant nothing by a wildcard, but paths below a path of the graph API", () => {
    const wild = grantsOf(objects).filter(({ verb, on }) => verb === "*" || on.includes("*"));
    expect(wild.map(textOf)).toEqual([
      "isochrone-probe delete /isochrone/api/v1/bandwidth-leases/*",
      "isochrone-scheduler-plugin get /isochrone/api/v1/graph/*",
    ]);
  });

  test("let nobody read Secrets but one by its name, exec, impersonate, bind, escalate or use nodes/proxy", () => {
    const grants = grantsOf(objects).map(textOf);
    expect(grants.filter((text) => /secrets/.test(text))).toEqual([
      "isochrone-aggregator get secrets isochrone-aggregator-certificates in isochrone",
      "isochrone-aggregator update secrets isochrone-aggregator-certificates in isochrone",
      "isochrone-aggregator create secrets in isochrone",
      "isochrone-aggregator get secrets isochrone-probe-keys in isochrone",
      "isochrone-aggregator patch secrets isochrone-probe-keys in isochrone",
      "isochrone-aggregator get secrets isochrone-record-keys in isochrone",
      "isochrone-aggregator patch secrets isochrone-record-keys in isochrone",
      ...["certificates", "kube-scheduler", "decisions"].map(
        (name) => `isochrone-scheduler-plugin get secrets isochrone-scheduler-plugin-${name} in isochrone`,
      ),
      ...["certificates", "kube-scheduler", "decisions"].map(
        (name) => `isochrone-scheduler-plugin update secrets isochrone-scheduler-plugin-${name} in isochrone`,
      ),
      "isochrone-scheduler-plugin create secrets in isochrone",
      "isochrone-scheduler-plugin get secrets isochrone-webhook in isochrone",
      "isochrone-scheduler-plugin update secrets isochrone-webhook in isochrone",
      "isochrone-uninstall delete secrets isochrone-webhook in isochrone",
    ]);
    expect(
      grants.filter((text) => /exec|pods\/attach|proxy|impersonate|escalate| bind |token$/.test(text)),
    ).toEqual([]);
  });

  test("give the probe nothing on the API server", () => {
    const probe = grantsOf(objects).filter(({ user }) => user.endsWith("-probe"));
    expect(probe.filter(({ on }) => !on.startsWith("/")).map(textOf)).toEqual([]);
  });

  test("are for service accounts that mount no token by themselves, and for no others", () => {
    const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
    expect(accounts.map(({ metadata }) => metadata.name).sort()).toEqual(ACCOUNTS.toSorted());
    expect(accounts.filter((account) => account["automountServiceAccountToken"] !== false)).toEqual([]);
    const subjects = objects.flatMap(
      (object) => (object["subjects"] ?? []) as { kind: string; name: string }[],
    );
    expect(new Set(subjects.map(({ kind, name }) => `${kind} ${name}`))).toEqual(
      new Set(ACCOUNTS.map((name) => `ServiceAccount ${name}`)),
    );
  });

  test("are each in docs/rbac.md", () => {
    const text = readFileSync(join(FILES, "../../../docs/rbac.md"), "utf8");
    const unnamed = RULE_FILES.filter((name) => name !== "graph-roles" && !text.includes(`\`${name}\``));
    expect(unnamed).toEqual([]);
    expect(POLICY_FILES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  test("stand in words of their own: each placeholder is in the README", () => {
    const readme = readFileSync(join(FILES, "rbac/README.md"), "utf8");
    expect(Object.keys(MANIFEST_VALUES).filter((name) => !readme.includes(`__${name}__`))).toEqual([]);
  });
});

describe("the chart's admission policies", () => {
  test.each(POLICY_FILES)(
    "%s denies, fails closed, and looks at our accounts only, but for authors of StreamJobs",
    (name) => {
      const [policy, binding] = manifest("admission", name);
      expect(policy).toMatchObject({ kind: "ValidatingAdmissionPolicy", spec: { failurePolicy: "Fail" } });
      expect(binding).toMatchObject({
        kind: "ValidatingAdmissionPolicyBinding",
        spec: { policyName: policy!.metadata.name, validationActions: ["Deny"] },
      });
      if (name === "stream-jobs") return;
      const accounts = name === "release-flows" ? ["isochrone-release-flows"] : ACCOUNTS;
      const [condition] = policy!.spec!["matchConditions"] as { expression: string }[];
      const users = [...condition!.expression.matchAll(/'system:serviceaccount:isochrone:([^']+)'/g)].map(
        ([, user]) => user,
      );
      expect(new Set(users)).toEqual(new Set(accounts));
    },
  );
});
