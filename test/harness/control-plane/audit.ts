import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

export interface AuditEvent {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  /** Empty for a non-resource path such as /readyz. */
  readonly resource: string;
  readonly subresource: string;
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  readonly userAgent: string;
  /** 0 without a response. */
  readonly code: number;
  /** A watch starts with ResponseStarted and ends with another event. */
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  /** "": unauthenticated. "premature": denied by a server that may not have loaded its roles yet. */
  readonly decision: "allow" | "forbid" | "premature" | "";
  /** The binding that allowed the request, or the reason for the denial. */
  readonly reason: string;
  /** The server was not ready, so its decisions and reviews may ignore its roles. */
  readonly isEarly: boolean;
  readonly receivedMs: number;
  /** Set with audit "RequestResponse". */
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

/** @param wasStarting whether the server was not ready then @param keep filter for logs beyond memory */
export async function readAuditLog(
  path: string,
  wasStarting: (atMs: number) => boolean,
  keep: (event: AuditEvent) => boolean,
): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    // The last line may be incomplete.
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
