// A real Kubernetes control plane for tests: etcd, the API server with RBAC, and, when asked for, scheduler,
// controller-manager and KWOK.
//
//   const components = ["controller-manager", "scheduler", "kwok"];
//   const cluster = await startControlPlane({ components, audit: true });
//   await cluster.addNodes(8, (i) => ({ region: `r${i % 2}`, zone: `z${i % 4}`, cpu: "8" }));
//   await cluster.createWorkload("web", { replicas: 3, requests: { cpu: "100m" } });
//   await cluster.waitFor("pods", (pods) => pods.filter(isRunning).length === 3, { labels: "app=web" });
//   const serviceAccount = { namespace: "isochrone", name: "aggregator" };
//   const file = await cluster.kubeconfigOf({ serviceAccount });
//   ... run something with that file ...
//   const denied = await cluster.auditEvents(({ decision }) => decision === "forbid");
//   await cluster.close();
//
// It starts in about 4 s (etcd and API server) to 6 s (all): share one among the tests of a file, with a
// namespace for each. `describe.runIf(controlPlaneSupport().supported)` skips where it can't run. Faults:
// stop, kill, pause, compact, throttle, startCutProxy, certificates that expire, tokens that are revoked.
// After the API server was away, the components back off for up to half a minute.
export { ApiClient, ApiError } from "./api-client.ts";
export type { Rule } from "./access.ts";
export type { AuditEvent } from "./audit.ts";
export type { Component } from "./components.ts";
export { ControlPlane, startControlPlane } from "./control-plane.ts";
export type { ControlPlaneOptions } from "./control-plane.ts";
export { CutProxy } from "./cut-proxy.ts";
export type { CutProxyOptions } from "./cut-proxy.ts";
export { GANG_FLAGS, gangObject, hasGangs, inGang } from "./gangs.ts";
export { isRunning, nodeNameOf, podObject, workloadObject } from "./objects.ts";
export type { NodeOptions, PodOptions } from "./objects.ts";
export { controlPlaneSupport, prepareControlPlane } from "./programs.ts";
export type { OptionalComponent } from "./programs.ts";
export type { ServiceAccountToken } from "./tokens.ts";
export { KUBERNETES_VERSION } from "./versions.ts";
