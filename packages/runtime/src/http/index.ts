export { addressKey, clientKey, isLoopback } from "./addresses.ts";
export { installBodyLimits } from "./bodies.ts";
export type { BodyLimits } from "./bodies.ts";
export type { BodyLease } from "./body-budget.ts";
export { createHttpApp } from "./create-http-app.ts";
export type { HttpApp, HttpAppOptions, Readiness } from "./create-http-app.ts";
export { ALLOWED_HOSTS_SETTING } from "./cross-site.ts";
export type { AllowedHosts } from "./cross-site.ts";
export type {
  Admission,
  GateAnswer,
  GateRequest,
  Principal,
  PrincipalPod,
  Refusal,
  RequestGate,
} from "./gate.ts";
export { listen } from "./listen.ts";
export type { ListenAddress } from "./listen.ts";
export { HttpError, problem, sendProblem } from "./problem.ts";
export type { FieldMistake, Problem } from "./problem.ts";
export { Tally } from "./tally.ts";
export type { ServerTlsFiles, ServerTlsOptions, TlsMaterial } from "./server-tls.ts";
export { SERVER_TLS_SETTINGS, serverTlsOf, serverTlsRules } from "./tls-settings.ts";
