//! mainstay.yaml, a strict superset of Unity's .gsh: read, validated, all errors at once.
