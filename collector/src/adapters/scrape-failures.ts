import { reasonOf, codeOf } from "@isochrone/primitives";
import { ScrapeError, type ScrapeFailure } from "../ports/errors.ts";
import type { Target } from "../ports/ports.ts";

export interface Progress {
  stage: "connecting" | "waiting for an answer" | "receiving";
  bytes: number;
}

const TLS_FAILURES: Readonly<Record<string, ScrapeFailure>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_unknown_ca",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_unknown_ca",
  UNABLE_TO_GET_ISSUER_CERT: "tls_unknown_ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_unknown_ca",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_unknown_ca",
  CERT_SIGNATURE_FAILURE: "tls_unknown_ca",
  CERT_UNTRUSTED: "tls_unknown_ca",
  INVALID_CA: "tls_unknown_ca",
  CERT_HAS_EXPIRED: "tls_expired",
  CERT_NOT_YET_VALID: "tls_expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_name",
  HOSTNAME_MISMATCH: "tls_name",
};

export function failureOf(target: Target, error: unknown, progress: Progress): ScrapeError {
  if (error instanceof ScrapeError) return error;
  const message = reasonOf(error);
  const code = codeOf(error) ?? "";
  const options = { cause: error };
  const tls = TLS_FAILURES[code] ?? (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code) ? "tls" : null);
  if (tls !== null) return new ScrapeError(tls, tlsMessage(target, tls, code, message), options);
  if (code.startsWith("Z_"))
    return new ScrapeError(
      "encoding",
      `${target.url} must send whole gzip data, got ${code} after ${progress.bytes} bytes`,
      options,
    );
  const when = progress.stage === "receiving" ? `receiving, after ${progress.bytes} bytes` : progress.stage;
  return new ScrapeError(
    "connect",
    `${target.url} can't be read: ${message || code} (while ${when})`,
    options,
  );
}

export function timedOut(target: Target, timeoutMs: number, progress: Progress): ScrapeError {
  const got = progress.stage === "receiving" ? ` (${progress.bytes} bytes so far)` : "";
  return new ScrapeError(
    "timeout",
    `${target.url} must be read within ${timeoutMs} ms, was still ${progress.stage}${got}`,
  );
}

export function refusal(target: Target, status: number, body: string): ScrapeError {
  const said = body === "" ? "" : `; it says ${JSON.stringify(body)}`;
  const kubelet = target.access === "kubelet";
  if (status === 401)
    return new ScrapeError(
      "unauthorized",
      `${target.url} must accept who asks, got 401: ${
        kubelet
          ? "the kubelet does not accept the token of collector.kubeletTokenFile; it must check tokens with the API server (authentication.webhook.enabled in its configuration)"
          : "it asks for credentials, and pages of pods get none"
      }${said}`,
    );
  if (status === 403)
    return new ScrapeError(
      "forbidden",
      `${target.url} must be allowed, got 403: ${
        kubelet
          ? 'the service account lacks the verb "get" on the resource "nodes/metrics" (ClusterRole, API group "")'
          : "it forbids the request; look for an authorization policy of the mesh, or a network policy"
      }${said}`,
    );
  return new ScrapeError("http_status", `${target.url} must answer 200, got ${status}${said}`);
}

function tlsMessage(target: Target, failure: ScrapeFailure, code: string, detail: string): string {
  const { url } = target;
  const kubelet = target.access === "kubelet";
  switch (failure) {
    case "tls_unknown_ca":
      return `${url} must have a certificate of a trusted authority, got ${code}: ${
        kubelet
          ? "collector.kubeletCaFile must hold the authority that signs the kubelets' serving certificates. A kubelet without serverTLSBootstrap signs its own, which nothing can check"
          : "its authority is not among the system's (NODE_EXTRA_CA_CERTS adds one)"
      }`;
    case "tls_expired":
      return `${url} must have a certificate that is valid now, got ${code}: ${
        kubelet ? "the kubelet must renew it (rotateCertificates, approved signing requests), or " : ""
      }one of the two clocks is wrong`;
    case "tls_name":
      return `${url} must have a certificate for this address${
        kubelet ? " (collector.kubeletServerName sets another name to ask for)" : ""
      }: ${detail}`;
    default:
      return `${url} must speak TLS as we do, got ${code || detail}: ${detail}`;
  }
}
