// Whose word counts for whom. What a proxy says of a channel between two namespaces is a claim of the end
// that it stands at: the other end's graph, by which that end's pods are placed, doesn't show it until a
// proxy at that end, or somebody above both, says so itself.
import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";

/** An end of a channel. */
export type ChannelEnd = "source" | "target";
/** Whose pods a statement about a channel counts for. */
type Binds = "both" | ChannelEnd;

/**
 * Proxies of a mesh stand at an end, a waypoint before its target; all others watch from above, where an
 * operator has put them.
 */
const STANDS_AT: Readonly<Partial<Record<Reporter, ChannelEnd>>> = {
  source: "source",
  destination: "target",
  waypoint: "target",
  linkerd: "source",
};

/**
 * Whose pods the figures of a reporter count for.
 * @param meshNamespaces namespaces whose proxies both ends believe: gateways that an operator runs
 */
export function bindsOf(reporter: Reporter, key: ChannelKey, meshNamespaces: ReadonlySet<string>): Binds {
  const end = STANDS_AT[reporter];
  // The outside has no graphs of its own.
  if (end === undefined || key.sourceNamespace === key.targetNamespace || isOutside(key)) return "both";
  const namespace = end === "source" ? key.sourceNamespace : key.targetNamespace;
  return meshNamespaces.has(namespace) ? "both" : end;
}

/** The end of a channel that lies in a namespace; of a channel within it either. */
export function endIn({ sourceNamespace }: ChannelKey, namespace: string): ChannelEnd {
  return sourceNamespace === namespace ? "source" : "target";
}
