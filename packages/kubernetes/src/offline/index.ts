export { ADMISSION_KINDS, admittedPod } from "./admission.ts";
export { completedObject } from "./complete.ts";
export { jsonDocuments, listedObjects } from "./json-documents.ts";
export { quantityFault } from "./quantities.ts";
