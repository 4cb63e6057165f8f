# Behind child.sh: the values of the cell, and the user's command with them.

# A value goes to the first of the names that have none yet.
_put() {
	_v=${_open%% *}
	_name "${_v#*=}"
	export "${_v#*=}=$1"
	_open=${_open#* }
}
# A name that eval and export may see.
_name() { case $1 in ''|[0-9]*|*[!A-Za-z0-9_]*) _end "$_bad" ;; esac }
# The text $1 with references replaced, into _out. What was put in is not looked at
# again.
_replace() {
	_out=
	_text=$1
	while _v=${_text#*"$_ref"} && [ "$_v" != "$_text" ]; do
		_out=$_out${_text%%"$_ref"*}
		_text=$_v
		_v=$_ref
		for _k in $_pairs; do
			case $_text in "${_k%=*} }}"*)
				eval '_v=$'"${_k#*=}"
				_text=${_text#*\}\}}
				break
				;;
			esac
		done
		_out=$_out$_v
	done
	_out=$_out$_text
}

# _place is the cell's place in the product, _row its row (from 1, less for a cell of
# the product), _share the cells that agree in the axes so far, _k the value of the
# axis (from 1).
_pairs=
_open=
_env=
_k=0
_place=$_cell
_row=$((_cell+1))
for _line in $_text; do
	case $_line in
	=*)
		_k=$((_k-1))
		[ $_k = 0 ] && _put "${_line#?}"
		;;
	[+\&]*)
		case $_line in +*) _row=$((_row-1)) ;; esac
		[ $_row = 0 ] && _put "${_line#?}"
		;;
	-*)
		_range "${_line#?}"
		[ $_place -lt $_from ] || _place=$((_place+_many)) _row=$((_row+_many))
		;;
	name*) _pairs="$_pairs${_line#* } " _open=$_pairs ;;
	env*) _env="$_env${_line#* } " ;;
	product*)
		_share=${_line#* }
		_numbers "$_share"
		_row=$((_row-_share))
		;;
	axis*)
		_numbers "${_line#* }"
		_k=0
		[ $_row -gt 0 ] || {
			_share=$((_share/${_line#* }))
			_k=$((_place/_share+1))
			_place=$((_place%_share))
		}
		;;
	esac
done
[ -z "$_open" ] || _end "$_bad"

IFS=$_ifs
_ref='${{ matrix.'
for _line in $_env; do
	_name "$_line"
	eval "_v=\${$_line-}"
	[ "$_v" ] && _replace "$_v" && export "$_line=$_out"
done
for _line; do
	_replace "$_line"
	set -- "$@" "$_out"
	shift
done
[ $# -gt 0 ] || _end "there is no command to run: give the job one"
exec "$@"
