import type { GateAnswer, GateRequest, Refusal, RequestGate } from "@isochrone/runtime/http";
import type { AccessDecision, AccessRequest } from "./access-review.ts";

interface AccessDecider {
  decide(request: AccessRequest): AccessDecision | Promise<AccessDecision>;
}

interface AccessGateOptions {
  readonly review: AccessDecider;
  readonly pathPrefix: string;
  readonly onDecision?: (kind: AccessDecision["kind"]) => void;
}

/** Service account tokens have about 1,000 characters. */
const BEARER = /^Bearer +([\x21-\x7e]{1,8192})$/i;
const REALM = 'Bearer realm="isochrone"';
const RETRY_AFTER_SECONDS = { throttled: 2, unavailable: 5 } as const;
/** HEAD requires the rights of GET. */
const VERBS: Readonly<Record<string, string>> = { HEAD: "get" };

/** This path has no prefix, so that general rules for Prometheus apply here, too. */
const METRICS_PATH = "/metrics";

/** Paths are prefixed, because system:discovery lets every authenticated account get /api/*. */
export function accessGate({ review, pathPrefix, onDecision }: AccessGateOptions): RequestGate {
  const conclude = (decision: AccessDecision): GateAnswer => {
    onDecision?.(decision.kind);
    return answerOf(decision);
  };
  return {
    check(request: GateRequest): GateAnswer | Promise<GateAnswer> {
      const token = BEARER.exec(request.authorization ?? "")?.[1];
      if (token === undefined) {
        onDecision?.("unauthenticated");
        return unauthenticated("a bearer token is needed", REALM);
      }
      const { method, remoteAddress } = request;
      const isPrefixed = request.path !== null && request.path !== METRICS_PATH;
      const path = isPrefixed ? pathPrefix + request.path : request.path;
      const verb = VERBS[method] ?? method.toLowerCase();
      const decision = review.decide({ token, verb, path, remoteAddress });
      return decision instanceof Promise ? decision.then(conclude) : conclude(decision);
    },
  };
}

function answerOf(decision: AccessDecision): GateAnswer {
  switch (decision.kind) {
    case "allowed": {
      const { user, node, pod } = decision;
      return { principal: { user, node, pod } };
    }
    case "unauthenticated":
      return unauthenticated(decision.detail, `${REALM}, error="invalid_token"`);
    case "forbidden":
      return { status: 403, code: "forbidden", detail: decision.detail };
    case "throttled":
    case "unavailable":
      return {
        status: 503,
        code: `access_${decision.kind}`,
        detail: decision.detail,
        headers: { "retry-after": String(RETRY_AFTER_SECONDS[decision.kind]) },
      };
    default:
      return decision satisfies never;
  }
}

function unauthenticated(detail: string, challenge: string): Refusal {
  return { status: 401, code: "unauthenticated", detail, headers: { "www-authenticate": challenge } };
}
