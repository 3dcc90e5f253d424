import { authorizedFetch, type Clock } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { AggregatorConfig } from "../settings.ts";
import { certificateEnd } from "./certificate-end.ts";
import { HttpDecisions } from "./http-decisions.ts";
import { HttpFlowPlans } from "./http-flow-plans.ts";

export function openSchedulerPlugin(
  config: AggregatorConfig,
  { registry, clock }: { readonly registry: Registry; readonly clock: Clock },
): { readonly decisions: HttpDecisions; readonly flowPlans: HttpFlowPlans } {
  const { decisionsUrl: baseUrl, decisionsTimeoutMs: timeoutMs } = config;
  const authorized = authorizedFetch({
    tokenFile: config.decisionsTokenFile,
    caFile: config.decisionsCaFile,
    certFile: config.decisionsCertFile,
    keyFile: config.decisionsKeyFile,
    onCertificate: certificateEnd(registry, "decisions"),
    clock,
  });
  const options = { baseUrl, timeoutMs, clock, fetch: authorized };
  return { decisions: new HttpDecisions(options), flowPlans: new HttpFlowPlans(options) };
}
