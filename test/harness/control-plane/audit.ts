// What the API server says was asked of it, by whom, and whether it was granted.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

export interface AuditEvent {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  /** Empty for a path that is no resource's, such as /readyz. */
  readonly resource: string;
  readonly subresource: string;
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
  /** With its query. */
  readonly path: string;
  readonly userAgent: string;
  /** 0 when nothing was answered. */
  readonly code: number;
  /** ResponseStarted is a watch's beginning; its end is another event. */
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  /**
   * Of the authorizer; "" for who wasn't even authenticated, "premature" for a no of a server that started
   * and may not have read its roles.
   */
  readonly decision: "allow" | "forbid" | "premature" | "";
  /** Which binding granted it, or why none did. */
  readonly reason: string;
  /**
   * The server had started and wasn't ready: what it says of rights, in reviews too, may be said without its
   * roles.
   */
  readonly isEarly: boolean;
  /** When the request came in, Unix time. */
  readonly receivedMs: number;
  /** With audit "RequestResponse". */
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

interface RawEvent {
  readonly verb: string;
  readonly stage: AuditEvent["stage"];
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly objectRef?: Partial<Pick<AuditEvent, (typeof OBJECT_FIELDS)[number]>>;
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly annotations?: {
    readonly "authorization.k8s.io/decision"?: "allow" | "forbid";
    readonly "authorization.k8s.io/reason"?: string;
  };
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

const OBJECT_FIELDS = ["resource", "subresource", "apiGroup", "namespace", "name"] as const;
const NO_OBJECT = { resource: "", subresource: "", apiGroup: "", namespace: "", name: "" };
const NOBODY = { username: "", groups: [] };

/**
 * @param wasStarting whether the server wasn't ready yet at a time
 * @param keep only those are kept: the log of a large cluster is larger than the memory
 */
export async function readAuditLog(
  path: string,
  wasStarting: (atMs: number) => boolean,
  keep: (event: AuditEvent) => boolean,
): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    // The last one may be half written.
    if (!line.endsWith("}")) continue;
    const event = eventOf(JSON.parse(line) as RawEvent, wasStarting);
    if (keep(event)) events.push(event);
  }
  return events;
}

function eventOf(raw: RawEvent, wasStarting: (atMs: number) => boolean): AuditEvent {
  const { verb, stage, requestURI, userAgent = "", annotations = {}, requestObject, responseObject } = raw;
  const { username: user, groups } = { ...NOBODY, ...raw.user };
  const receivedMs = Date.parse(raw.requestReceivedTimestamp);
  const isEarly = wasStarting(receivedMs);
  const decision = annotations["authorization.k8s.io/decision"] ?? "";
  return {
    ...NO_OBJECT,
    ...Object.fromEntries(OBJECT_FIELDS.map((field) => [field, raw.objectRef?.[field] ?? ""])),
    user,
    groups,
    verb,
    path: requestURI,
    userAgent,
    code: raw.responseStatus?.code ?? 0,
    stage,
    decision: decision === "forbid" && isEarly ? "premature" : decision,
    isEarly,
    reason: annotations["authorization.k8s.io/reason"] ?? "",
    receivedMs,
    ...(requestObject === undefined ? {} : { requestObject }),
    ...(responseObject === undefined ? {} : { responseObject }),
  };
}
