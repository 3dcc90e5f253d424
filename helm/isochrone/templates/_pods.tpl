{{/* For every pod: nothing here goes beyond the level restricted. */}}
{{- define "isochrone.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "isochrone.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "isochrone.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where pods go. Takes the values of a component. */}}
{{- define "isochrone.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* A token of the graph API's own audience, and the authorities of its server. Takes {root, isReplica}. */}}
{{- define "isochrone.graphAccess" -}}
{{- if eq (include "isochrone.accessMode" .root) "kubernetes" }}
- serviceAccountToken:
    audience: isochrone
    expirationSeconds: 3600
    path: token
{{- end }}
{{- if include "isochrone.ownTls" .root }}
{{- /* Aggregators make it: they would wait for themselves, and know it without a file. */}}
{{- if not .isReplica }}
- configMap:
    name: {{ include "isochrone.trustConfigMap" .root }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- else if include "isochrone.tls" .root }}
- secret:
    name: {{ include "isochrone.aggregatorSecret" .root }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}

{{/* What a component asks for, as its values say, else by the size of the cluster. Takes {root, values,
     sizes}. Measured: docs/benchmarks.md. */}}
{{- define "isochrone.resources" -}}
{{- if .values.resources }}
{{- toYaml .values.resources }}
{{- else }}
{{- toYaml (get .sizes .root.Values.size) }}
{{- end }}
{{- end }}

{{/* Options of Node: three quarters of the limit of memory are heap. Takes {resources}: YAML. */}}
{{- define "isochrone.nodeOptions" -}}
{{- $limit := dig "limits" "memory" "" (fromYaml .resources) -}}
{{- $limit = ternary (printf "%.0f" $limit) (toString $limit) (kindIs "float64" $limit) -}}
{{- if $limit -}}
{{- $number := regexFind "^[0-9.]+" $limit | float64 -}}
{{- $unit := regexFind "[A-Za-z]*$" $limit -}}
{{- $factors := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if not (hasKey $factors $unit) }}{{ fail (printf "resources.limits.memory must be a number of bytes with Ki, Mi, Gi, Ti, k, M, G, T or no unit, got %s" $limit) }}{{ end -}}
{{- $mebibytes := divf (mulf $number (get $factors $unit)) 1048576 -}}
{{- if lt $mebibytes 96.0 }}{{ fail (printf "resources.limits.memory must be at least 96Mi, got %s: Node itself takes 60" $limit) }}{{ end -}}
--max-old-space-size={{ mulf $mebibytes (.heapShare | default 0.75) | floor | int }}
{{- end -}}
{{- end }}

{{/*
Variables of every container. Takes {resources, values, nodeOptions, heapShare, returnsMemory}: what is asked of Node beside the size of its heap;
V8's part of the container's memory, three quarters by default; whether what a burst of records took goes back to the system at once.
*/}}
{{- define "isochrone.environment" -}}
- name: ISOCHRONE_CONFIG
  value: /etc/isochrone/config/isochrone.yaml
{{- with list (include "isochrone.nodeOptions" .) .nodeOptions | compact | join " " }}
- name: NODE_OPTIONS
  value: {{ . | quote }}
{{- end }}
{{- if .returnsMemory }}
- name: MALLOC_ARENA_MAX
  value: "2"
- name: MALLOC_MMAP_THRESHOLD_
  value: "65536"
- name: MALLOC_TRIM_THRESHOLD_
  value: "131072"
{{- end }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An environment variable of the pod's own state. Takes {name, path}. */}}
{{- define "isochrone.fieldRef" -}}
- name: {{ .name }}
  valueFrom: {fieldRef: {fieldPath: {{ .path }}}}
{{- end }}

{{/* Sources of a projected volume for a client of the scheduler-plugin: ca.crt, tls.crt, tls.key. */}}
{{- define "isochrone.schedulerClientFiles" -}}
{{- if include "isochrone.ownTls" . }}
{{- if .Values.tls.extenderClientCertificates }}
# Made by the scheduler-plugin, which may start later.
- secret: {name: {{ include "isochrone.decisionsSecret" . }}, optional: true, items: [{key: ca.crt, path: ca.crt}, {key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
{{- else }}
- configMap: {name: {{ include "isochrone.extenderTrustConfigMap" . }}, optional: true, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- else }}
- secret: {name: {{ include "isochrone.schedulerSecret" . }}, items: [{key: ca.crt, path: ca.crt}]}
{{- if .Values.tls.extenderClientCertificates }}
- secret: {name: {{ include "isochrone.clientSecret" . }}, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
{{- end }}
{{- end }}
{{- end }}
