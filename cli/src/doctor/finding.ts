export const GROUPS = [
  "node",
  "kernel",
  "sockets",
  "permissions",
  "clocks",
  "kafka",
  "api-server",
  "rbac",
  "crds",
  "gates",
  "sources",
  "appgroups",
  "dispatch",
  "freshness",
  "extender",
  "flows",
] as const;
export type Group = (typeof GROUPS)[number];

/** `skipped`: not checked; the value gives the reason. */
export type Severity = "ok" | "info" | "warning" | "error" | "skipped";

export interface Verdict {
  readonly check: string;
  readonly severity: Severity;
  readonly looked: string;
  readonly value: string;
  readonly rule: string;
  /** One sentence with the command or setting to use; null: nothing to do. */
  readonly remedy: string | null;
}

export const NAME_A_CLUSTER = "Name a cluster by --kubeconfig (and --context), or $KUBECONFIG.";
export const NAME_A_SERVER =
  "Name the aggregator by --server (with --token-file and --ca-file), e.g. after `kubectl -n isochrone port-forward svc/isochrone-aggregator 8080`.";

export interface Finding extends Verdict {
  readonly group: Group;
}

type Parts = Omit<Verdict, "severity">;

export const ok = (parts: Omit<Parts, "remedy">): Verdict => ({ ...parts, severity: "ok", remedy: null });

export function verdict(holds: boolean, otherwise: "info" | "warning" | "error", parts: Parts): Verdict {
  return { ...parts, severity: holds ? "ok" : otherwise, remedy: holds ? null : parts.remedy };
}

export const skipped = (
  parts: Omit<Parts, "value" | "rule"> & { readonly why: string; readonly rule?: string },
): Verdict => {
  const { check, looked, remedy, why, rule = "" } = parts;
  return { check, severity: "skipped", looked, value: why, rule, remedy };
};
