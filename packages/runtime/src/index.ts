export type { Clock, Random } from "./clock.ts";
export type { Logger } from "./log.ts";
export type { ComposedService, Part, Service } from "./service.ts";
export { systemClock, systemRandom } from "./system.ts";
export { seededRandom } from "./random.ts";
export { CodedError, DeadlineError, SettingsError } from "./errors.ts";
export { createLogger } from "./log/create-logger.ts";
export { createRegistry } from "./metrics.ts";
export { ScrapedMetrics } from "./scraped-metrics.ts";
export { AnsweringThread } from "./answering-thread.ts";
export type { ThreadOutcome } from "./answering-thread.ts";
export { visible, visibleLines } from "./visible.ts";
export { withDeadline } from "./deadline.ts";
export { pause } from "./pause.ts";
export { periodic } from "./periodic.ts";
export type { Periodic } from "./periodic.ts";
export { DEFAULT_BACKOFF, delayMs, retry } from "./backoff.ts";
export type { BackoffDelays } from "./backoff.ts";
export { Lifecycle } from "./lifecycle/lifecycle.ts";
export { composeServices, stopParts } from "./lifecycle/compose.ts";
export { nodeProcessHost } from "./lifecycle/process-host.ts";
export type { ProcessHost } from "./lifecycle/process-host.ts";
export type { JsonSchema, Setting, ValueOf } from "./settings/setting.ts";
export { constant, derived } from "./settings/setting.ts";
export { bytes, duration, integer, number, ratio } from "./settings/numbers.ts";
export { flag, list, oneOf, text } from "./settings/texts.ts";
export { Secret } from "./settings/secret.ts";
export { section } from "./settings/section.ts";
export type { Section, SectionRule, SettingsOf } from "./settings/section.ts";
export { loadSettings } from "./settings/load.ts";
export { checkedFile, checkedFileIfAny } from "./settings/checked-file.ts";
export { describeSettings } from "./settings/describe.ts";
export { serviceSettings } from "./settings/service-settings.ts";
export {
  readTextFile,
  TextError,
  YAML_LIMITS,
  yamlDocuments,
  yamlSizeProblem,
  yamlValue,
} from "./settings/yaml-text.ts";
export type { YamlDocument } from "./settings/yaml-text.ts";
export { authorizedFetch } from "./http-client/authorized-fetch.ts";
export { boundedBody } from "./http-client/bounded-body.ts";
export { jsonFile, type JsonFile } from "./json-file.ts";
export type { Fetch, FetchAnswer } from "./http-client/authorized-fetch.ts";
export {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  caFileSetting,
  certFileSetting,
  clientCertificateMistake,
  clientFilesMistake,
  clientSettings,
  keyFileSetting,
  tokenFileSetting,
} from "./http-client/settings.ts";
