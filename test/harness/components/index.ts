// Isochrone on a control plane of the harness as the chart installs it: the rules and policies of
// helm/isochrone/files, and services as processes of their own, each under its own service account.
//
//   await installRules(cluster);
//   await installPolicies(cluster);
//   const installation = new Installation(cluster);
//   const settings = { aggregator: { buildIntervalMs: 500 } };
//   const aggregator = await installation.component("aggregator", "aggregator-0", settings);
//   await aggregator.start();
//   ...
//   await installation.close();
export { ComponentProcess } from "./component-process.ts";
export type { ComponentKind } from "./component-process.ts";
export type { ComponentSettings } from "./tuned.ts";
export { grantsOf, textOf, usesOf } from "./grants.ts";
export type { Use } from "./grants.ts";
export { AUDIENCE, Installation } from "./installation.ts";
export { KubeletStandIn } from "./kubelet.ts";
export { installRules, manifest, MANIFEST_VALUES, POLICY_FILES, RULE_FILES } from "./manifests.ts";
export { installPolicies } from "./policies.ts";
export { verdictOf } from "./verdict.ts";
export type { Evidence, Scenario, Verdict } from "./verdict.ts";
