export { EndpointPolicy } from "./endpoint-policy.ts";
export { EndpointTraining } from "./endpoint-training.ts";
