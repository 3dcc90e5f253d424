export type { Clock, Random } from "./clock.ts";
export type { Logger, LogFields } from "./log.ts";
export type { ComposedService, Part, Service } from "./service.ts";
export { countBuffersAsHeap, keepHeapDense } from "./garbage.ts";
export { systemClock, systemRandom } from "./system.ts";
export { seededRandom } from "./random.ts";
export {
  CodedError,
  CredentialsError,
  DeadlineError,
  LifecycleError,
  ListenError,
  RUNTIME_ERROR_CODES,
  ServiceError,
  SettingsError,
} from "./errors.ts";
export type { RuntimeErrorCode } from "./errors.ts";
export { createLogger, LOG_LEVELS } from "./log/create-logger.ts";
export type { LogDestination, LoggerOptions, LogLevel } from "./log/create-logger.ts";
export { createRegistry } from "./metrics.ts";
export type { RegistryOptions } from "./metrics.ts";
export { AnsweringThread } from "./answering-thread.ts";
export type { AnsweringThreadOptions, ThreadOutcome } from "./answering-thread.ts";
export { hasHidden, visible, visibleData, visibleLines, visibleSource } from "./visible.ts";
export { withDeadline } from "./deadline.ts";
export { pause } from "./pause.ts";
export { periodic } from "./periodic.ts";
export type { Periodic, PeriodicOptions } from "./periodic.ts";
export { DEFAULT_BACKOFF, delayMs, retry, shouldRetry } from "./backoff.ts";
export type { BackoffDelays, BackoffPolicy } from "./backoff.ts";
export { Lifecycle } from "./lifecycle/lifecycle.ts";
export type { LifecycleState } from "./lifecycle/lifecycle.ts";
export { EXIT_CODES, runService } from "./lifecycle/run-service.ts";
export type { RunServiceOptions } from "./lifecycle/run-service.ts";
export { composeServices, stopParts } from "./lifecycle/compose.ts";
export type { ComposeOptions, Deadlines } from "./lifecycle/compose.ts";
export { nodeProcessHost } from "./lifecycle/process-host.ts";
export type { ProcessHost, StopSignal } from "./lifecycle/process-host.ts";
export type {
  JsonSchema,
  OrNull,
  Parsed,
  Setting,
  SettingKind,
  SettingOptions,
  ValueOf,
} from "./settings/setting.ts";
export { constant, derived } from "./settings/setting.ts";
export { bytes, duration, integer, number, ratio } from "./settings/numbers.ts";
export type { NumberOptions } from "./settings/numbers.ts";
export { flag, list, oneOf, secret, text } from "./settings/texts.ts";
export type { ListOptions, TextOptions } from "./settings/texts.ts";
export { REDACTED, Secret } from "./settings/secret.ts";
export { environmentName, section } from "./settings/section.ts";
export type { Section, SectionRule, SettingsOf, SettingsTable } from "./settings/section.ts";
export { loadSettings } from "./settings/load.ts";
export type { LoadedSettings, SettingsSources } from "./settings/load.ts";
export { describeSettings } from "./settings/describe.ts";
export { serviceSettings } from "./settings/service-settings.ts";
export type { ServiceSettings } from "./settings/service-settings.ts";
export {
  jsonNestingProblem,
  readTextFile,
  TextError,
  YAML_LIMITS,
  yamlDocuments,
  yamlSizeProblem,
  yamlValue,
} from "./settings/yaml-text.ts";
export type { TextProblem, YamlDocument, YamlLimits } from "./settings/yaml-text.ts";
export { authorizedFetch } from "./http-client/authorized-fetch.ts";
export type { AuthorizedFetchOptions, Fetch } from "./http-client/authorized-fetch.ts";
export {
  caFileSetting,
  certFileSetting,
  clientCertificateMistake,
  clientFilesMistake,
  keyFileSetting,
  tokenFileSetting,
} from "./http-client/settings.ts";
