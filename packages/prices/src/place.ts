import type { Provider } from "./row.ts";

/** Where a node is, as far as prices care. */
export interface Place {
  readonly provider: Provider;
  readonly region: string | null;
  readonly zone: string | null;
}

/** The place of a node: the same object for all nodes in it. */
export type PlaceOf = (node: string) => Place | undefined;

/** How cloud controllers begin `spec.providerID` of their nodes. */
const SCHEMES: Readonly<Record<string, Provider>> = { aws: "aws", gce: "gcp", azure: "azure" };

/** Whose node it is; `own` for nodes of no cloud that is known here. @param scheme of `spec.providerID` */
export function providerOf(scheme: string | null): Provider {
  return (scheme === null ? undefined : SCHEMES[scheme]) ?? "own";
}
