export { HELM_VERSION, helmSupport, prepareHelm } from "./build.ts";
export { CHART, Helm } from "./helm.ts";
export type { ChartValues, HelmResult, TemplateOptions } from "./helm.ts";
export { annotationOf, chartFilesIn, isHook, only, podSpecOf, settingsOf } from "./objects.ts";
export { runHook } from "./hook-process.ts";
export { MATRIX } from "./matrix.ts";
export { installOperators, operatorsSupport, prepareOperators } from "./operators.ts";
export { SECTIONS } from "./sections.ts";
export { Services } from "./services.ts";
