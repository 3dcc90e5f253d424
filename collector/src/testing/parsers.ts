export { readAnswer } from "../prometheus/answer.ts";
export { PrometheusError } from "../prometheus/errors.ts";
export { readPage } from "../domain/testing/read-page.ts";
export { CollectorTests, istioAt } from "./collector-tests.ts";
