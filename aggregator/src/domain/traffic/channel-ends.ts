// Decides which end trusts which report. A proxy's report about a channel between two namespaces counts for
// its own end only. The other end's graph, which places that end's pods, ignores it until a proxy there or a
// higher source confirms it.
import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";

export type ChannelEnd = "source" | "target";
type Binds = "both" | ChannelEnd;

/** Ends at which mesh proxies report; a waypoint precedes its target. Others are cluster-wide. */
const STANDS_AT: Readonly<Partial<Record<Reporter, ChannelEnd>>> = {
  source: "source",
  destination: "target",
  waypoint: "target",
  linkerd: "source",
};

/** @param meshNamespaces namespaces of operated gateways, which both ends trust */
export function bindsOf(reporter: Reporter, key: ChannelKey, meshNamespaces: ReadonlySet<string>): Binds {
  const end = STANDS_AT[reporter];
  // External ends have no graphs.
  if (end === undefined || key.sourceNamespace === key.targetNamespace || isOutside(key)) return "both";
  const namespace = end === "source" ? key.sourceNamespace : key.targetNamespace;
  return meshNamespaces.has(namespace) ? "both" : end;
}

/** The end in this namespace; either if both are. */
export function endIn({ sourceNamespace }: ChannelKey, namespace: string): ChannelEnd {
  return sourceNamespace === namespace ? "source" : "target";
}
