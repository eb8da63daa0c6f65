-- made by tools/engine_sql.py
-- name: evidence
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
)
SELECT
  "u" AS "user",
  "i" AS "item",
  "m" AS "reward",
  COUNT(*) AS "times"
FROM "lumpable_checked"
WHERE
  "fault" IS NULL
GROUP BY
  "u",
  "i",
  "m"

-- name: evidence propensity
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
)
SELECT
  "u" AS "user",
  "i" AS "item",
  "m" AS "reward",
  COUNT(*) AS "times",
  "p" AS "propensity"
FROM "lumpable_checked"
WHERE
  "fault" IS NULL
GROUP BY
  "u",
  "i",
  "m",
  "p"

-- name: evidence id
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
), "lumpable_versions" AS (
  SELECT
    "e",
    "u",
    "i",
    "m",
    "p",
    COUNT(*) AS "n",
    MIN("t") AS "earliest",
    MAX("t") AS "latest"
  FROM "lumpable_checked"
  WHERE
    "fault" IS NULL
  GROUP BY
    "e",
    "u",
    "i",
    "m",
    "p"
), "lumpable_ranked" AS (
  SELECT
    "u",
    "i",
    "m",
    "p",
    "n",
    "earliest",
    "latest",
    COUNT(*) OVER (PARTITION BY "e") AS "versions",
    CASE
      WHEN RANK() OVER (PARTITION BY "e" ORDER BY "earliest") = 1
      AND COUNT(*) OVER (PARTITION BY "e", "earliest") = 1
      THEN 1
      ELSE 0
    END AS "kept"
  FROM "lumpable_versions"
)
SELECT
  "u" AS "user",
  "i" AS "item",
  "m" AS "reward",
  COUNT(*) AS "times"
FROM "lumpable_ranked"
WHERE
  "kept" = 1
GROUP BY
  "u",
  "i",
  "m"

-- name: evidence id propensity
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
), "lumpable_versions" AS (
  SELECT
    "e",
    "u",
    "i",
    "m",
    "p",
    COUNT(*) AS "n",
    MIN("t") AS "earliest",
    MAX("t") AS "latest"
  FROM "lumpable_checked"
  WHERE
    "fault" IS NULL
  GROUP BY
    "e",
    "u",
    "i",
    "m",
    "p"
), "lumpable_ranked" AS (
  SELECT
    "u",
    "i",
    "m",
    "p",
    "n",
    "earliest",
    "latest",
    COUNT(*) OVER (PARTITION BY "e") AS "versions",
    CASE
      WHEN RANK() OVER (PARTITION BY "e" ORDER BY "earliest") = 1
      AND COUNT(*) OVER (PARTITION BY "e", "earliest") = 1
      THEN 1
      ELSE 0
    END AS "kept"
  FROM "lumpable_versions"
)
SELECT
  "u" AS "user",
  "i" AS "item",
  "m" AS "reward",
  COUNT(*) AS "times",
  "p" AS "propensity"
FROM "lumpable_ranked"
WHERE
  "kept" = 1
GROUP BY
  "u",
  "i",
  "m",
  "p"

-- name: faults
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
)
SELECT
  COALESCE("fault", 'none') AS "fault",
  COUNT(*) AS "rows",
  MIN("t") AS "first",
  MAX("t") AS "last"
FROM "lumpable_checked"
GROUP BY
  "fault"

-- name: faults id
WITH "lumpable_raw" AS (
  SELECT
    __user__ AS "u",
    __item__ AS "i",
    CAST(__reward__ AS DOUBLE) AS "x",
    CAST(__propensity__ AS DOUBLE) AS "p",
    __time__ AS "t",
    __rewarded__ AS "w",
    __id__ AS "e"
  FROM __table__
  WHERE
    __shard__
), "lumpable_scaled" AS (
  SELECT
    "u",
    "i",
    "x",
    "p",
    "t",
    "w",
    "e",
    CASE WHEN "x" >= -10000000000 AND "x" <= 10000000000 THEN ABS("x") * 1000000 END AS "y"
  FROM "lumpable_raw"
), "lumpable_checked" AS (
  SELECT
    "u",
    "i",
    "p",
    "t",
    "e",
    CAST(CASE WHEN "x" < 0 THEN -1 ELSE 1 END * (
      FLOOR("y") + CASE
        WHEN "y" - FLOOR("y") > 0.5
        THEN 1
        WHEN "y" - FLOOR("y") = 0.5 AND FLOOR("y") - 2 * FLOOR(FLOOR("y") * 0.5) = 1
        THEN 1
        ELSE 0
      END
    ) AS BIGINT) AS "m",
    CASE
      WHEN "u" IS NULL OR CAST("u" AS TEXT) = ''
      THEN 'user is missing'
      WHEN "i" IS NULL OR CAST("i" AS TEXT) = ''
      THEN 'item is missing'
      WHEN "x" IS NULL
      THEN 'reward is missing'
      WHEN (
        "x" > 0 AND -"x" > 0
      ) OR NOT (
        "x" <= 0 OR "x" >= 0
      )
      THEN 'reward is NaN'
      WHEN "x" = CASE WHEN "x" > 1 OR "x" < -1 THEN "x" * 0.5 ELSE 2 END
      THEN 'reward is infinite'
      WHEN "y" IS NULL OR "y" > 9007199254740991 OR NOT __accepted__
      THEN 'reward is out of range'
      WHEN "p" IS NULL
      THEN 'propensity is missing'
      WHEN NOT (
        "p" >= 2.2250738585072014e-308 AND "p" <= 1
      )
      THEN 'propensity is outside (0, 1]'
      WHEN "t" IS NULL
      THEN 'time is missing'
      WHEN "w" < "t"
      THEN 'reward before its decision'
      WHEN "e" IS NULL OR CAST("e" AS TEXT) = ''
      THEN 'event id is missing'
    END AS "fault"
  FROM "lumpable_scaled"
), "lumpable_versions" AS (
  SELECT
    "e",
    "u",
    "i",
    "m",
    "p",
    COUNT(*) AS "n",
    MIN("t") AS "earliest",
    MAX("t") AS "latest"
  FROM "lumpable_checked"
  WHERE
    "fault" IS NULL
  GROUP BY
    "e",
    "u",
    "i",
    "m",
    "p"
), "lumpable_ranked" AS (
  SELECT
    "u",
    "i",
    "m",
    "p",
    "n",
    "earliest",
    "latest",
    COUNT(*) OVER (PARTITION BY "e") AS "versions",
    CASE
      WHEN RANK() OVER (PARTITION BY "e" ORDER BY "earliest") = 1
      AND COUNT(*) OVER (PARTITION BY "e", "earliest") = 1
      THEN 1
      ELSE 0
    END AS "kept"
  FROM "lumpable_versions"
)
SELECT
  "fault" AS "fault",
  COUNT(*) AS "rows",
  MIN("t") AS "first",
  MAX("t") AS "last"
FROM "lumpable_checked"
WHERE
  NOT "fault" IS NULL
GROUP BY
  "fault"
UNION ALL
SELECT
  'none',
  COUNT(*),
  MIN("earliest"),
  MAX("latest")
FROM "lumpable_ranked"
WHERE
  "kept" = 1
UNION ALL
SELECT
  'event id repeats the same',
  CAST(SUM("n" - 1) AS BIGINT),
  MIN("earliest"),
  MAX("latest")
FROM "lumpable_ranked"
WHERE
  "versions" = 1
HAVING
  SUM("n" - 1) > 0
UNION ALL
SELECT
  'event id contradicts another',
  CAST(SUM("n" - "kept") AS BIGINT),
  MIN("earliest"),
  MAX("latest")
FROM "lumpable_ranked"
WHERE
  "versions" > 1
HAVING
  SUM("n" - "kept") > 0

-- name: shard
SELECT
  COALESCE(SUBSTRING(MD5(CAST(__user__ AS TEXT)), 1, 4), '0000')
