// Extender checks: whether kube-scheduler authenticates, and until when its certificate is valid.
import { skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";
import { samplesOf } from "./sources.ts";

interface ExtenderPage {
  readonly url: string;
  readonly text: string | null;
  readonly error: string | null;
}

const METRIC = "isochrone_tls_shown_certificate_not_after_seconds";
/** The aggregator also uses this server, but reloads its certificate. */
const AGGREGATOR_CLIENT = /client="[^"]*-decisions-client"/;
const MIN_DAYS = 30;
const DAY_MS = 86_400_000;
const REMEDY =
  "Run `isochrone scheduler-config FILE --service NAMESPACE/SERVICE --client-folder FOLDER` on each node of the control plane and restart kube-scheduler (docs/runbooks/IsochroneKubeSchedulerCertificateEnds.md).";

/** @param page null: none was named */
export function judgeExtender(page: ExtenderPage | null, nowMs: number): Verdict[] {
  const parts = {
    check: "kube-scheduler's certificate",
    looked: page === null ? `${METRIC} of the scheduler-plugin` : `${METRIC} at ${page.url}`,
    rule: `kube-scheduler shows one that lasts ${MIN_DAYS} days`,
    remedy: REMEDY,
  };
  if (page === null)
    return [
      skipped({
        ...parts,
        why: "no scheduler-plugin is named",
        remedy:
          "Name one by --scheduler-plugin https://HOST:PORT (and its authority by --ca-file), e.g. after `kubectl -n isochrone port-forward deployment/isochrone-scheduler-plugin 8888`.",
      }),
    ];
  const { text, error } = page;
  if (text === null) return [verdict(false, "error", { ...parts, value: error ?? "no answer" })];
  // Only a server that requests client certificates has the metric.
  if (!text.includes(`# TYPE ${METRIC} `))
    return [
      verdict(false, "warning", {
        ...parts,
        value: "the extender requires no certificate: every pod that reaches it can query it",
        remedy: "Set tls.source to own or cert-manager in the chart's values (docs/scheduler.md).",
      }),
    ];
  const shown = samplesOf(text, METRIC).filter(
    ({ labels }) => labels.includes('server="scheduler"') && !AGGREGATOR_CLIENT.test(labels),
  );
  if (shown.length === 0)
    return [
      verdict(false, "warning", {
        ...parts,
        value:
          "kube-scheduler has presented none since this process started, or scheduler.tlsClientNames is empty",
      }),
    ];
  const days = (Math.min(...shown.map(({ value }) => value)) * 1_000 - nowMs) / DAY_MS;
  const value = days <= 0 ? `ended ${(-days).toFixed(1)} days ago` : `ends in ${days.toFixed(1)} days`;
  return [verdict(days >= MIN_DAYS, days <= 0 ? "error" : "warning", { ...parts, value })];
}
